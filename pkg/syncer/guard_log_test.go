package syncer

import (
	"context"
	"testing"

	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/logging"
)

// system is an API server that has a kube-system namespace with that UID, or does not answer.
type system struct {
	client.Reader

	uid types.UID
}

var errDown = errors.New("down")

func (s *system) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	if s.uid == "" {
		return errDown
	}
	obj.SetUID(s.uid)
	return nil
}

// TestReplacementIsLoggedOnce: an operator reads once that another cluster answers, however often that is found, and once that the right one is back.
func TestReplacementIsLoggedOnce(t *testing.T) {
	var logged []string
	server := &system{}
	p := &post{
		sentry: &sentry{reader: server, uid: "first", of: virtualCluster, replaced: ErrVirtualClusterReplaced},
		log:    logging.NewLogrLogger(funcr.NewJSON(func(line string) { logged = append(logged, line) }, funcr.Options{})),
	}
	steps := []struct {
		reason string
		uid    types.UID
		lines  int
		want   error
	}{
		{"the right one answers, as ever", "first", 0, nil},
		{"nobody answers", "", 0, errDown},
		{"another one answers", "second", 1, ErrVirtualClusterReplaced},
		{"it still does", "second", 0, ErrVirtualClusterReplaced},
		{"so does a third", "third", 0, ErrVirtualClusterReplaced},
		{"nobody answers, which says nothing", "", 0, errDown},
		{"the right one is back", "first", 1, nil},
		{"it still is", "first", 0, nil},
		{"another one answers again", "second", 1, ErrVirtualClusterReplaced},
	}
	for _, step := range steps {
		server.uid, logged = step.uid, nil
		if err := p.ask(t.Context()); !errors.Is(err, step.want) || len(logged) != step.lines {
			t.Errorf("%s: got error %v, logged %q", step.reason, err, logged)
		}
	}
}
