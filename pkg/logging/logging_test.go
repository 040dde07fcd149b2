package logging_test

import (
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/pkg/logging"
)

func TestLogrLogger(t *testing.T) {
	cases := map[string]struct {
		reason    string
		verbosity int
		log       func(l logging.Logger)
		want      []string
	}{
		"Info": {
			reason: "Info is written at every verbosity.",
			log:    func(l logging.Logger) { l.Info("moored", "ship", "pearl") },
			want:   []string{`"level"=0 "msg"="moored" "ship"="pearl"`},
		},
		"DebugOff": {
			reason: "Debug is not for everybody.",
			log:    func(l logging.Logger) { l.Debug("moored") },
		},
		"DebugOn": {
			reason:    "Debug is one level more verbose.",
			verbosity: 1,
			log:       func(l logging.Logger) { l.Debug("moored", "ship", "pearl") },
			want:      []string{`"level"=1 "msg"="moored" "ship"="pearl"`},
		},
		"WithValues": {
			reason: "Values come before those of the call, and the original stays as it was.",
			log: func(l logging.Logger) {
				l.WithValues("port", "tortuga").Info("moored", "ship", "pearl")
				l.Info("left")
			},
			want: []string{`"level"=0 "msg"="moored" "port"="tortuga" "ship"="pearl"`, `"level"=0 "msg"="left"`},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string

			sink := funcr.New(func(_, args string) { got = append(got, args) }, funcr.Options{Verbosity: tc.verbosity})
			tc.log(logging.NewLogrLogger(sink))

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestLogrLoggerReportsTheCaller(t *testing.T) {
	var got []string

	sink := funcr.New(func(_, args string) { got = append(got, args) }, funcr.Options{LogCaller: funcr.All, Verbosity: 1})
	l := logging.NewLogrLogger(sink).WithValues("a", 1)
	l.Info("x")
	l.Debug("x")

	for _, line := range got {
		if !strings.Contains(line, `"file"="logging_test.go"`) {
			t.Errorf("The caller of the logger is not reported: %s", line)
		}
	}

	if len(got) != 2 {
		t.Errorf("%d lines, want 2", len(got))
	}
}

func TestLoggersNeedNoSink(t *testing.T) {
	for name, l := range map[string]logging.Logger{
		"Nop":      logging.NewNopLogger(),
		"ZeroLogr": logging.NewLogrLogger(logr.Logger{}),
	} {
		t.Run(name, func(t *testing.T) {
			l = l.WithValues("a", 1)
			l.Info("x", "odd")
			l.Debug("x", nil)
		})
	}
}
