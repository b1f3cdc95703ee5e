package dsl

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/eoc-lang/eoc/dsl/internal/syntax"
	"github.com/eoc-lang/eoc/internal/diag"
)

// optionWords are the words of a block: those that this version has, and the others.
type optionWords struct{ known, notYet []string }

func wordsOf(known, notYet string) optionWords {
	return optionWords{strings.Fields(known), strings.Fields(notYet)}
}

// optionHabits are words of options elsewhere.
var optionHabits = map[string]string{
	"bootstrap": "brokers", "bootstrap_servers": "brokers", "servers": "brokers", "broker": "brokers", "ssl": "tls", "auth": "sasl",
	"timestamp": "time", "event_time": "time", "rowtime": "time", "ts": "time", "lateness": "watermark", "offset": "start", "offset_reset": "start",
	"keys": "key", "partition_key": "key", "guarantee": "deliver", "delivery_guarantee": "deliver", "state": "store", "state_dir": "store",
	"interval": "checkpoint", "checkpoint_interval": "checkpoint", "tasks": "parallelism", "threads": "parallelism", "dlq": "on_error",
}

// options sorts the options of a block by their words. What is unknown, repeated or not
// compiled yet has been reported and is left out.
func (c *checker) options(of string, opts []*syntax.Option, words optionWords) map[string]*syntax.Option {
	given := map[string]*syntax.Option{}
	keyLine := 0 // what else is on it are keys whose comma is missing
	for i, o := range opts {
		if c.enough() {
			break
		}
		word := o.Word.String()
		switch first := given[word]; {
		case first != nil:
			c.report(diag.New("repeated-option", c.at(o.Word.Node), "`%s` is given twice", word).
				WithRelated(c.at(first.Word.Node), "first here"))
		case slices.Contains(words.known, word):
			given[word] = o
		case slices.Contains(words.notYet, word):
			c.notYet(o.Node, "the option `"+word+"` of "+of)
		case o.Word.Pos.Line == keyLine:
		case i > 0 && opts[i-1].Word.String() == "key" && opts[i-1].Word.Pos.Line == o.Word.Pos.Line:
			keyLine = o.Word.Pos.Line
			c.report(diag.New("option-comma", c.at(o.Word.Node), "between keys stands a comma").
				WithLabel("write `%s, %s`", c.file.Line(opts[i-1].Node), word))
		default:
			d := diag.New("unknown-option", c.at(o.Word.Node), "`%s` is not an option of %s", word, of).
				WithNote("here: %s", strings.Join(words.known, " · "))
			if meant := optionHabits[strings.ToLower(word)]; slices.Contains(words.known, meant) {
				d = d.WithLabel("did you mean `%s`?", meant)
			} else {
				d = d.DidYouMean(word, words.known)
			}
			c.report(d)
		}
	}
	return given
}

// badOption reports a value that has the wrong form.
func (c *checker) badOption(o *syntax.Option, want string) {
	c.report(diag.New("bad-option", c.at(o.Values[0].Span()), "`%s` is not a value of `%s`", c.file.Line(o.Values[0].Span()), o.Word).
		WithLabel("expected %s", want))
}

// durationOption is an option whose value is a duration between the two.
func (c *checker) durationOption(o *syntax.Option, least, most time.Duration) (time.Duration, bool) {
	l, ok := o.Values[0].(*syntax.Literal)
	if ok && l.Kind == "number" {
		c.report(diag.New("bad-number", c.at(l.Node), "`%s` has no unit", l.Text).
			WithLabel("a duration has one, as in 90s or 1h30m"))
		return 0, false
	}
	if ok && l.Kind == "string" && durationForm.MatchString(l.Text) {
		c.badOption(o, l.Text+", without quotes")
		return 0, false
	}
	if !ok || l.Kind != "duration" {
		c.badOption(o, "a duration such as 10s")
		return 0, false
	}
	return c.duration(l.Node, l.Text, "`"+o.Word.String()+"`", least, most)
}

// durationForm is a duration as it is written.
var durationForm = regexp.MustCompile(`^([0-9]+(us|ms|s|m|h|d))+$`)

// duration reads one that must lie between the two.
func (c *checker) duration(n syntax.Node, text, what string, least, most time.Duration) (time.Duration, bool) {
	us, ok := parseDuration(text)
	d := time.Duration(us) * time.Microsecond
	if !ok || d < least || d > most {
		c.errorf(n, "out-of-range", "%s is between %s and %s", what, durationText(least), durationText(most))
		return 0, false
	}
	return d, true
}

// durationText writes a duration as the language does: 1h30m.
func durationText(d time.Duration) string {
	if d == 0 {
		return "0s"
	}
	var s strings.Builder
	for _, u := range []struct {
		name string
		size time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second},
		{"ms", time.Millisecond}, {"us", time.Microsecond}} {
		if n := d / u.size; n > 0 {
			s.WriteString(formatInt(int64(n)) + u.name)
			d %= u.size
		}
	}
	return s.String()
}

// setting is a text, or env("X") or env("X", "default"); ok is false if it is neither.
func (c *checker) setting(e syntax.Expr) (s Setting, ok bool) {
	switch e := e.(type) {
	case *syntax.Literal:
		return Setting{Text: e.Text}, e.Kind == "string"
	case *syntax.Call:
		if ref, isRef := e.Fun.(*syntax.Ref); !isRef || ref.Name != "env" || len(e.Args) < 1 || len(e.Args) > 2 {
			return s, false
		}
		var texts []string
		for _, a := range e.Args {
			l, isText := a.Value.(*syntax.Literal)
			if !isText || l.Kind != "string" || a.Name != nil {
				return s, false
			}
			texts = append(texts, l.Text)
		}
		s.Env, s.HasDefault = texts[0], len(texts) == 2
		if s.HasDefault {
			s.Text = texts[1]
		}
		return s, envName.MatchString(s.Env)
	}
	return s, false
}

// envName is that of an environment variable (POSIX.1-2017, 8.1, and lower case).
var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

const wantText = "a text in double quotes or env(\"NAME\")"

// settingOption is an option whose value is a setting.
func (c *checker) settingOption(o *syntax.Option) (Setting, bool) {
	s, ok := c.setting(o.Values[0])
	if !ok {
		c.badOption(o, wantText)
	}
	return s, ok
}

// settingArg is the one argument of a call such as dlq("t"), whose form is for the message.
func (c *checker) settingArg(o *syntax.Option, call *syntax.Call, form string) (Setting, bool) {
	if call != nil && len(call.Args) == 1 && call.Args[0].Name == nil {
		if s, ok := c.setting(call.Args[0].Value); ok {
			return s, true
		}
	}
	c.badOption(o, form)
	return Setting{}, false
}

// topic is the one of kafka("topic").
func (c *checker) topic(e syntax.Expr) (Setting, bool) {
	call, ok := e.(*syntax.Call)
	var ref *syntax.Ref
	if ok {
		ref, ok = call.Fun.(*syntax.Ref)
	}
	if !ok || ref.Name != "kafka" {
		text, topic := c.file.Line(e.Span()), "topic"
		_, isDot := e.(*syntax.Dot)
		l, isLiteral := e.(*syntax.Literal)
		switch {
		case isDot && bareTopic.MatchString(text):
			topic = text
		case isLiteral && l.Kind == "string" && LegalTopic(l.Text):
			topic = l.Text
		}
		c.report(diag.New("bad-connector", c.at(e.Span()), "`%s` is no place for records", text).
			WithLabel("expected kafka(%q)", topic))
		return Setting{}, false
	}
	var s Setting
	if ok = len(call.Args) == 1 && call.Args[0].Name == nil; ok {
		s, ok = c.setting(call.Args[0].Value)
	}
	if !ok {
		d := diag.New("bad-connector", c.at(call.Node), "kafka takes one topic").WithLabel("expected kafka(\"topic\") or kafka(env(\"NAME\"))")
		if len(call.Args) == 1 && call.Args[0].Name == nil {
			if bare := c.file.Line(call.Args[0].Value.Span()); bareTopic.MatchString(bare) {
				d = d.WithLabel("a topic stands in quotes: kafka(%q)", bare)
			}
		}
		c.report(d)
		return Setting{}, false
	}
	return s, c.topicName(call.Args[0].Node, s)
}

// bareTopic is a topic without its quotes.
var bareTopic = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*([.-][A-Za-z0-9_]+)*$`)

// maxTopic is the length that Kafka allows a topic's name (org.apache.kafka.common.internals.Topic).
const maxTopic = 249

// TopicRule says which names of topics Kafka takes (LegalTopic).
var TopicRule = fmt.Sprintf("a topic's name is 1 to %d of a-z, A-Z, 0-9, `.`, `_` and `-`", maxTopic)

var legalTopic = regexp.MustCompile(fmt.Sprintf(`^[a-zA-Z0-9._-]{1,%d}$`, maxTopic))

// LegalTopic reports whether Kafka takes the name of a topic.
func LegalTopic(name string) bool {
	return name != "." && name != ".." && legalTopic.MatchString(name)
}

// topicName checks the name of a topic as Kafka does.
func (c *checker) topicName(n syntax.Node, s Setting) bool {
	if s.Env != "" && !s.HasDefault {
		return true
	}
	if !LegalTopic(s.Text) {
		c.errorf(n, "bad-topic", "%s", TopicRule)
		return false
	}
	return true
}
