package log_test

import (
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/moorage-dev/moorage/pkg/log"
)

// TestLines: every kind of line goes to the base, under the names that were given, and
// loggers that were made before controller-runtime's was set write to that.
func TestLines(t *testing.T) {
	early, nameless := log.New("early"), log.NewWithoutName()
	var lines []string
	base := funcr.New(func(prefix, args string) { lines = append(lines, prefix+" "+args) }, funcr.Options{Verbosity: 9})
	ctrllog.SetLogger(base)

	l := log.NewFromExisting(base, "cars")
	l.Infof("made %d", 1)
	l.WithName("beetle").Errorf("lost %s", "it")
	l.Debugf("look")
	l.Base().Info("base")
	early.Infof("in time")
	nameless.Infof("nobody")
	log.NewFromExisting(logr.Logger{}, "silent").Infof("dropped")
	want := []string{
		`cars "level"=0 "msg"="made 1"`,
		`cars/beetle "msg"="lost it" "error"=null`,
		`cars "level"=1 "msg"="look"`,
		`cars "level"=0 "msg"="base"`,
		`early "level"=0 "msg"="in time"`,
		` "level"=0 "msg"="nobody"`,
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
