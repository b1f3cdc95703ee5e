package kafkatest

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// Secured are the further listeners of a broker with Options.Secure, one for each way to connect. The helpers go on
// with the one that asks for nothing.
type Secured struct {
	TLS   string // TLS, whoever connects
	MTLS  string // TLS, for who has a certificate of Authority
	Plain string // SASL PLAIN without TLS
	Scram string // SASL SCRAM-SHA-256 and SCRAM-SHA-512 over TLS, asked for anew every 3 s
	OAuth string // SASL OAUTHBEARER over TLS, with tokens that nobody signs

	Authority *Authority // it has signed the broker's certificate
	Client    Identity   // a certificate that MTLS takes
}

// Users and Password are what the listeners with SASL ask for. SCRAM-SHA-256 knows one of the users, all else the other, so that who takes one SCRAM for the other
// is not let in. The password is one that is found wherever it should not be.
const (
	User     = "shop"
	User256  = "shop-256"
	Password = "Canary-7f3a91-Password"
)

// Token is a token for the listener OAuth: a JWT without a signature (RFC 7519, 6), which Kafka takes unless
// configured otherwise. It holds until then.
func Token(until time.Time) string {
	part := base64.RawURLEncoding.EncodeToString
	claims := fmt.Sprintf(`{"sub":%q,"canary":%q,"iat":%d,"exp":%d}`, User, Password, until.Add(-validity).Unix(), until.Unix())
	return part([]byte(`{"alg":"none"}`)) + "." + part([]byte(claims)) + "."
}

// secure adds the listeners to the broker's settings.
func (b *Broker) secure(settings map[string]string) error {
	s := &Secured{}
	dir := b.path("tls")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	var err error
	if s.Authority, err = NewAuthority(dir, "authority"); err != nil {
		return err
	}
	until := time.Now().Add(validity)
	own, err := s.Authority.Issue("broker", until, "127.0.0.1", "localhost")
	if err != nil {
		return err
	}
	if s.Client, err = s.Authority.Issue("client", until); err != nil {
		return err
	}
	for _, l := range []struct {
		name, protocol string
		addr           *string
	}{
		{"TLS", "SSL", &s.TLS}, {"MTLS", "SSL", &s.MTLS}, {"PLAIN", "SASL_PLAINTEXT", &s.Plain},
		{"SCRAM", "SASL_SSL", &s.Scram}, {"OAUTH", "SASL_SSL", &s.OAuth},
	} {
		port, err := b.takePort()
		if err != nil {
			return err
		}
		*l.addr = "127.0.0.1:" + strconv.Itoa(port)
		for _, key := range []string{"listeners", "advertised.listeners"} {
			settings[key] += "," + l.name + "://" + *l.addr
		}
		settings["listener.security.protocol.map"] += "," + l.name + ":" + l.protocol
	}
	const module = "org.apache.kafka.common.security."
	for key, value := range map[string]string{
		"ssl.keystore.type": "PEM", "ssl.keystore.location": own.Both,
		"ssl.truststore.type": "PEM", "ssl.truststore.location": s.Authority.CA,
		"listener.name.mtls.ssl.client.auth":          "required",
		"listener.name.plain.sasl.enabled.mechanisms": "PLAIN",
		"listener.name.plain.plain.sasl.jaas.config":  module + "plain.PlainLoginModule required user_" + User + `="` + Password + `";`,
		"listener.name.scram.sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512",
		"listener.name.oauth.sasl.enabled.mechanisms": "OAUTHBEARER",
		"listener.name.oauth.oauthbearer.sasl.jaas.config": module +
			"oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub=\"broker\";",
	} {
		settings[key] = value
	}
	for _, m := range []string{"256", "512"} {
		settings["listener.name.scram.scram-sha-"+m+".connections.max.reauth.ms"] = "3000"
		settings["listener.name.scram.scram-sha-"+m+".sasl.jaas.config"] = module + "scram.ScramLoginModule required;"
	}
	b.Secure = s
	return nil
}

// addUsers makes the users of the listener Scram known.
func (b *Broker) addUsers() error {
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	const iterations = 4096 // the fewest that Kafka takes
	answer, err := kadm.NewClient(b.client).AlterUserSCRAMs(ctx, nil, []kadm.UpsertSCRAM{
		{User: User256, Mechanism: kadm.ScramSha256, Iterations: iterations, Password: Password},
		{User: User, Mechanism: kadm.ScramSha512, Iterations: iterations, Password: Password},
	})
	if err == nil {
		err = answer.Error()
	}
	if err != nil {
		return fmt.Errorf("add users %s and %s: %w", User256, User, err)
	}
	return nil
}

// Leaks are the lines of a text that show the password, or a token that it is part of.
func Leaks(text string) []string {
	secrets := []string{Password, base64.StdEncoding.EncodeToString([]byte(Password))}
	for shift := range 3 { // as it stands in a text that is encoded as a whole
		inner := base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + Password))
		secrets = append(secrets, inner[4:len(inner)-4])
	}
	var found []string
	for line := range strings.Lines(text) {
		for _, s := range secrets {
			if strings.Contains(line, s) {
				found = append(found, line)
				break
			}
		}
	}
	return found
}
