package logging_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/pkg/logging"
)

// bare is another implementation of Logger, with its three methods alone.
type bare struct {
	lines *[]string
	pairs []any
}

func (b bare) Info(msg string, keysAndValues ...any)  { b.write("INFO", msg, keysAndValues) }
func (b bare) Debug(msg string, keysAndValues ...any) { b.write("DEBUG", msg, keysAndValues) }

func (b bare) WithValues(keysAndValues ...any) logging.Logger {
	b.pairs = append(b.pairs[:len(b.pairs):len(b.pairs)], keysAndValues...)

	return b
}

func (b bare) write(level, msg string, keysAndValues []any) {
	r := slog.Record{Message: msg}
	r.Add(append(b.pairs[:len(b.pairs):len(b.pairs)], keysAndValues...)...)
	line := level + " " + msg
	r.Attrs(func(a slog.Attr) bool { line += " " + a.String(); return true })
	*b.lines = append(*b.lines, line)
}

func TestExtension(t *testing.T) {
	cases := map[string]struct {
		reason           string
		log              func(l logging.Logger)
		slog, logr, bare []string
	}{
		"Two": {
			reason: "The two levels that every logger has.",
			log: func(l logging.Logger) {
				l.Info("stored", "bucket", "logs")
				l.Debug("in use", "disk", 3)
			},
			slog: []string{"level=INFO msg=stored bucket=logs", `level=DEBUG msg="in use" disk=3`},
			logr: []string{`"level"=0 "msg"="stored" "bucket"="logs"`, `"level"=1 "msg"="in use" "disk"=3`},
			bare: []string{"INFO stored bucket=logs", "DEBUG in use disk=3"},
		},
		"Values": {
			reason: "Values come before those of the call, and the original stays as it was.",
			log: func(l logging.Logger) {
				l.WithValues("region", "west").Info("stored", "bucket", "logs")
				l.Info("left")
			},
			slog: []string{"level=INFO msg=stored region=west bucket=logs", "level=INFO msg=left"},
			logr: []string{`"level"=0 "msg"="stored" "region"="west" "bucket"="logs"`, `"level"=0 "msg"="left"`},
			bare: []string{"INFO stored region=west bucket=logs", "INFO left"},
		},
		"Warn": {
			reason: "A warning is one where there are warnings, and says so elsewhere.",
			log:    func(l logging.Logger) { logging.Warn(l, "Queue is growing", "length", 7) },
			slog:   []string{`level=WARN msg="Queue is growing" length=7`},
			logr:   []string{`"level"=0 "msg"="Queue is growing" "severity"="warning" "length"=7`},
			bare:   []string{"INFO Queue is growing severity=warning length=7"},
		},
		"Error": {
			reason: "An error is one where there are errors, and says so elsewhere.",
			log:    func(l logging.Logger) { logging.Error(l, errors.New("no disk"), "Cannot attach", "bucket", "logs") },
			slog:   []string{`level=ERROR msg="Cannot attach" error="no disk" bucket=logs`},
			logr:   []string{`"msg"="Cannot attach" "error"="no disk" "bucket"="logs"`},
			bare:   []string{"INFO Cannot attach severity=error error=no disk bucket=logs"},
		},
		"NoError": {
			reason: "Nothing is made up when there is no error to tell.",
			log:    func(l logging.Logger) { logging.Error(l, nil, "Cannot attach") },
			slog:   []string{`level=ERROR msg="Cannot attach"`},
			logr:   []string{`"msg"="Cannot attach" "error"=null`},
			bare:   []string{"INFO Cannot attach severity=error"},
		},
		"Name": {
			reason: "Names add up, and the original keeps its own.",
			log: func(l logging.Logger) {
				one := logging.WithName(l, "managed")
				logging.WithName(one, "stream").Info("both")
				one.Info("one")
				l.Info("none")
			},
			slog: []string{"level=INFO msg=both logger=managed.stream", "level=INFO msg=one logger=managed",
				"level=INFO msg=none"},
			logr: []string{`managed/stream: "level"=0 "msg"="both"`, `managed: "level"=0 "msg"="one"`,
				`"level"=0 "msg"="none"`},
			bare: []string{"INFO both logger=managed logger=stream", "INFO one logger=managed", "INFO none"},
		},
		"NameAndValues": {
			reason: "A name is kept with the values, whichever came first.",
			log: func(l logging.Logger) {
				logging.WithName(l, "managed").WithValues("a", 1).Info("x")
				logging.WithName(l.WithValues("a", 1), "managed").Info("x")
			},
			slog: []string{"level=INFO msg=x a=1 logger=managed", "level=INFO msg=x a=1 logger=managed"},
			logr: []string{`managed: "level"=0 "msg"="x" "a"=1`, `managed: "level"=0 "msg"="x" "a"=1`},
			bare: []string{"INFO x logger=managed a=1", "INFO x a=1 logger=managed"},
		},
		"OddPairs": {
			reason: "A key without a value does not stop the message.",
			log:    func(l logging.Logger) { l.Info("stored", "bucket") },
			slog:   []string{"level=INFO msg=stored !BADKEY=bucket"},
			logr:   []string{`"level"=0 "msg"="stored" "bucket"="<no-value>"`},
			bare:   []string{"INFO stored !BADKEY=bucket"},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var toSlog bytes.Buffer
			tc.log(logging.NewSlogLogger(slog.New(slog.NewTextHandler(&toSlog,
				&slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: withoutTime}))))
			if diff := cmp.Diff(tc.slog, strings.Split(strings.TrimSpace(toSlog.String()), "\n")); diff != "" {
				t.Errorf("%s\nslog: -want, +got:\n%s", tc.reason, diff)
			}

			var toLogr, toBare []string
			tc.log(logging.NewLogrLogger(funcr.New(func(prefix, args string) {
				if prefix != "" {
					prefix += ": "
				}
				toLogr = append(toLogr, prefix+args)
			}, funcr.Options{Verbosity: 1})))
			if diff := cmp.Diff(tc.logr, toLogr); diff != "" {
				t.Errorf("%s\nlogr: -want, +got:\n%s", tc.reason, diff)
			}

			tc.log(bare{lines: &toBare})
			if diff := cmp.Diff(tc.bare, toBare); diff != "" {
				t.Errorf("%s\nwithout the extension: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}

	return a
}

func TestLoggersAreExtended(t *testing.T) {
	for name, l := range map[string]logging.Logger{
		"Nop":  logging.NewNopLogger(),
		"Logr": logging.NewLogrLogger(funcr.New(func(_, _ string) {}, funcr.Options{})),
		"Slog": logging.NewSlogLogger(slog.Default()),
	} {
		for which, l := range map[string]logging.Logger{
			"itself": l, "with values": l.WithValues("a", 1),
			"with a name": logging.WithName(l, "n"),
		} {
			if _, ok := l.(logging.ExtendedLogger); !ok {
				t.Errorf("%s, %s, is no ExtendedLogger", name, which)
			}
		}
	}
}

func TestSlogLevels(t *testing.T) {
	var out bytes.Buffer
	l := logging.NewSlogLogger(slog.New(slog.NewTextHandler(&out,
		&slog.HandlerOptions{Level: slog.LevelWarn, ReplaceAttr: withoutTime})))

	l.Debug("dropped")
	l.Info("dropped")
	logging.Warn(l, "kept")

	if diff := cmp.Diff("level=WARN msg=kept\n", out.String()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestCallersAreReported logs in each way, and expects this file as the call site.
func TestCallersAreReported(t *testing.T) {
	ways := map[string]func(l logging.Logger){
		"Info":  func(l logging.Logger) { l.Info("x") },
		"Debug": func(l logging.Logger) { l.Debug("x") },
		"Warn":  func(l logging.Logger) { logging.Warn(l, "x") },
		"Error": func(l logging.Logger) { logging.Error(l, nil, "x") },
		"WarnMethod": func(l logging.Logger) {
			l.(logging.ExtendedLogger).Warn("x") // All of this package are.
		},
		"ErrorMethod": func(l logging.Logger) {
			l.(logging.ExtendedLogger).Error(nil, "x")
		},
		"Derived": func(l logging.Logger) { logging.WithName(l, "n").WithValues("a", 1).Info("x") },
	}

	for name, log := range ways {
		var site string
		log(logging.NewSlogLogger(slog.New(sources(&site))))
		if !strings.HasSuffix(site, "extended_test.go") {
			t.Errorf("slog, %s: %q is reported as the call site", name, site)
		}

		var line string
		log(logging.NewLogrLogger(funcr.New(func(_, args string) { line = args },
			funcr.Options{LogCaller: funcr.All, Verbosity: 1})))
		if !strings.Contains(line, `"file"="extended_test.go"`) {
			t.Errorf("logr, %s: the call site is another one: %s", name, line)
		}
	}
}

// siteHandler stores the file of the call site of the last record.
type siteHandler struct {
	slog.Handler
	site *string
}

func sources(site *string) slog.Handler {
	return siteHandler{slog.NewTextHandler(nil, nil), site}
}

func (h siteHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h siteHandler) WithAttrs(_ []slog.Attr) slog.Handler { return h }

func (h siteHandler) Handle(_ context.Context, r slog.Record) error {
	if s := r.Source(); s != nil {
		*h.site = s.File
	}

	return nil
}

// TestDebugEnabled: loggers of this package report their level, and any other counts as enabled.
func TestDebugEnabled(t *testing.T) {
	at := func(level slog.Level) logging.Logger {
		return logging.NewSlogLogger(slog.New(slog.NewTextHandler(&bytes.Buffer{}, &slog.HandlerOptions{Level: level})))
	}
	verbose := func(v int) logging.Logger {
		return logging.NewLogrLogger(funcr.New(func(string, string) {}, funcr.Options{Verbosity: v}))
	}
	for name, tc := range map[string]struct {
		l    logging.Logger
		want bool
	}{
		"Nop":         {l: logging.NewNopLogger()},
		"Logr":        {l: verbose(0)},
		"LogrVerbose": {l: verbose(1), want: true},
		"Slog":        {l: at(slog.LevelInfo)},
		"SlogVerbose": {l: at(slog.LevelDebug), want: true},
		"Named":       {l: logging.WithName(at(slog.LevelInfo).WithValues("bucket", "logs"), "storage")},
		"Own":         {l: bare{}, want: true},
	} {
		if got := logging.DebugEnabled(tc.l); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
