package settings

import (
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eoc-lang/eoc/runtime/internal/checkpoint"
)

// ShortestCheckpoint is the shortest interval that can be asked for. A checkpoint costs an fsync
// and a transaction, so below this a program would do nothing else.
const ShortestCheckpoint = 10 * time.Millisecond

// LongestName is the greatest length of a pipeline's name. Groups and transactional ids are made
// of it; this leaves room in every tool and metric label that shows them.
const LongestName = 200

// defaultPort is the port of a broker that is given without one.
const defaultPort = "9092"

// option is one thing that a program can be told.
type option struct {
	flag  string // without the dashes
	env   string // its environment variable
	value string // what the value looks like, for --help; "" for a switch
	help  string
	// initial is the value when nobody says anything; the zero Setting: none. from is who chose
	// it: the .eo file's name, or "" for the runtime.
	initial Setting
	from    string
	set     func(s *Settings, text string) error
}

// options lists all of them, in the order of --help.
func options(d Defaults, p *protection) []option {
	brokers := option{flag: "brokers", env: "EO_BROKERS", value: "HOST:PORT,…", initial: Setting{Text: "localhost:9092"},
		help: "brokers of the Kafka cluster to ask first", set: setBrokers}
	if d.Connection.Brokers != (Setting{}) {
		brokers.initial, brokers.from = d.Connection.Brokers, d.File
	}
	list := append([]option{brokers}, connectionOptions(d, p)...)
	list = append(list, []option{
		{flag: "state", env: "EO_STATE", value: "DIR", initial: d.StateDir, from: d.File,
			help: "directory of the checkpoints", set: setState},
		{flag: "name", env: "EO_NAME", value: "NAME", initial: Setting{Text: d.Name}, from: d.File,
			help: "name of the pipeline, of which consumer group and transactional ids are made", set: setName},
		{flag: "until", env: "EO_UNTIL", value: "latest|TIME",
			help: "end the pipeline for good at what the topics hold at the first start, or at this Kafka time (RFC 3339)", set: setUntil},
		{flag: "parallelism", env: "EO_PARALLELISM", value: "N", initial: Setting{Text: strconv.Itoa(d.Parallelism)}, from: d.File,
			help: fmt.Sprintf("tasks that work side by side, 1 to %d", checkpoint.Groups), set: setParallelism},
		{flag: "checkpoint-interval", env: "EO_CHECKPOINT_INTERVAL", value: "DURATION", initial: Setting{Text: d.Checkpoint.String()}, from: d.File,
			help: "time from one checkpoint to the next: results are visible after it", set: d.setCheckpoint},
		{flag: "create-topics", env: "EO_CREATE_TOPICS",
			help: "make topics that are missing", set: setSwitch(func(s *Settings) *bool { return &s.CreateTopics })},
		{flag: "fresh", env: "EO_FRESH",
			help: "forget the state and begin anew: earlier results stay and are made once more", set: setSwitch(func(s *Settings) *bool { return &s.Fresh })},
		{flag: "accept-loss", env: "EO_ACCEPT_LOSS",
			help: "go on although records that were not read yet are gone", set: setSwitch(func(s *Settings) *bool { return &s.AcceptLoss })},
		{flag: "log-format", env: "EO_LOG_FORMAT", value: "text|json", initial: Setting{Text: "text"},
			help: "form of the log on standard error", set: setLogFormat},
		{flag: "log-level", env: "EO_LOG_LEVEL", value: "LEVEL", initial: Setting{Text: "info"},
			help: "least level that is logged: debug, info, warn or error", set: setLogLevel},
	}...)
	list = append(list, viewOptions()...)
	if d.Memory {
		return slices.DeleteFunc(list, func(o option) bool { return o.flag == "state" })
	}
	return list
}

func setBrokers(s *Settings, text string) error {
	s.Brokers = nil
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		broker, err := parseBroker(item)
		if err != nil {
			return err
		}
		s.Brokers = append(s.Brokers, broker)
	}
	if len(s.Brokers) == 0 {
		return fmt.Errorf("expected at least one broker, such as localhost:9092")
	}
	return nil
}

// parseBroker completes and checks host:port.
func parseBroker(text string) (string, error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil && strings.Contains(err.Error(), "missing port") {
		host, port, err = net.SplitHostPort(text + ":" + defaultPort)
	}
	number, numberErr := strconv.Atoi(port)
	if err != nil || host == "" || strings.ContainsAny(host, " /") || numberErr != nil || number < 1 || number > 65535 {
		return "", fmt.Errorf("%q is not a broker; expected host:port, such as localhost:9092", text)
	}
	return net.JoinHostPort(host, port), nil
}

func setState(s *Settings, text string) error {
	if strings.TrimSpace(text) == "" {
		return fmt.Errorf("expected a directory, such as ./state")
	}
	s.StateDir = text
	return nil
}

func setName(s *Settings, text string) error {
	if len(text) > LongestName || !regexp.MustCompile(`^[a-z0-9._-]+$`).MatchString(text) {
		return fmt.Errorf("expected at most %d of the characters a-z 0-9 . _ -, such as orders-staging", LongestName)
	}
	s.Name = text
	return nil
}

func setUntil(s *Settings, text string) error {
	if text == "latest" {
		s.Until = Until{Latest: true}
		return nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.Before(time.UnixMilli(0)) {
		return fmt.Errorf("expected latest or a time in the form of RFC 3339, such as 2026-01-31T12:00:00Z")
	}
	s.Until = Until{Time: at}
	return nil
}

func setParallelism(s *Settings, text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > checkpoint.Groups {
		return fmt.Errorf("expected a number from 1 to %d", checkpoint.Groups)
	}
	s.Parallelism = n
	return nil
}

func (d Defaults) setCheckpoint(s *Settings, text string) error {
	interval, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return fmt.Errorf("expected a duration, such as 500ms or 1m30s")
	case interval < ShortestCheckpoint:
		return fmt.Errorf("expected at least %v", ShortestCheckpoint)
	case d.LongestCheckpoint > 0 && interval > d.LongestCheckpoint:
		return fmt.Errorf("expected at most %v: a transaction that stays open longer may reach its timeout; raise txn_timeout in the job of %s", d.LongestCheckpoint, d.File)
	}
	s.Checkpoint = interval
	return nil
}

func setSwitch(field func(*Settings) *bool) func(*Settings, string) error {
	return func(s *Settings, text string) error {
		on, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("expected true or false")
		}
		*field(s) = on
		return nil
	}
}

func setLogFormat(s *Settings, text string) error {
	f := LogFormat(text)
	if f != Text && f != JSON {
		return fmt.Errorf("expected text or json")
	}
	s.LogFormat = f
	return nil
}

func setLogLevel(s *Settings, text string) error {
	levels := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
	level, ok := levels[text]
	if !ok {
		return fmt.Errorf("expected debug, info, warn or error")
	}
	s.LogLevel = level
	return nil
}
