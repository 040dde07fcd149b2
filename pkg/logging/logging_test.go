package logging_test

import (
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
			log:    func(l logging.Logger) { l.Info("stored", "bucket", "logs") },
			want:   []string{`"level"=0 "msg"="stored" "bucket"="logs"`},
		},
		"DebugOff": {
			reason: "Debug is not for everybody.",
			log:    func(l logging.Logger) { l.Debug("stored") },
		},
		"DebugOn": {
			reason:    "Debug is one level more verbose.",
			verbosity: 1,
			log:       func(l logging.Logger) { l.Debug("stored", "bucket", "logs") },
			want:      []string{`"level"=1 "msg"="stored" "bucket"="logs"`},
		},
		"WithValues": {
			reason: "Values come before those of the call, and the original stays as it was.",
			log: func(l logging.Logger) {
				l.WithValues("region", "north").Info("stored", "bucket", "logs")
				l.Info("left")
			},
			want: []string{`"level"=0 "msg"="stored" "region"="north" "bucket"="logs"`, `"level"=0 "msg"="left"`},
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

func TestLoggersNeedNoSink(t *testing.T) {
	for name, l := range map[string]logging.Logger{
		"Nop":      logging.NewNopLogger(),
		"ZeroLogr": logging.NewLogrLogger(logr.Logger{}),
		"NilSlog":  logging.NewSlogLogger(nil),
	} {
		t.Run(name, func(t *testing.T) {
			l = logging.WithName(l.WithValues("a", 1), "name")
			l.Info("x", "odd")
			l.Debug("x", nil)
			logging.Warn(l, "x")
			logging.Error(l, nil, "x")
		})
	}
}
