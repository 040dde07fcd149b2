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

// A kubeSystemReader returns a kube-system namespace with that UID, or an error if the
// UID is empty.
type kubeSystemReader struct {
	client.Reader

	uid types.UID
}

var errDown = errors.New("down")

func (s *kubeSystemReader) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	if s.uid == "" {
		return errDown
	}
	obj.SetUID(s.uid)
	return nil
}

// TestGuardLogsReplacementOnce verifies that one message is logged when another cluster
// answers, and one when the original cluster is back, however many checks are made.
func TestGuardLogsReplacementOnce(t *testing.T) {
	var logged []string
	server := &kubeSystemReader{}
	p := &identityGuard{
		identity: &identityCheck{
			reader: server, uid: "first", cluster: virtualCluster, replacedErr: ErrVirtualClusterReplaced,
		},
		log: logging.NewLogrLogger(funcr.NewJSON(func(line string) { logged = append(logged, line) }, funcr.Options{})),
	}
	steps := []struct {
		reason string
		uid    types.UID
		lines  int
		want   error
	}{
		{"the original cluster answers", "first", 0, nil},
		{"no cluster answers", "", 0, errDown},
		{"another cluster answers", "second", 1, ErrVirtualClusterReplaced},
		{"it still answers", "second", 0, ErrVirtualClusterReplaced},
		{"a third cluster answers", "third", 0, ErrVirtualClusterReplaced},
		{"no cluster answers, which changes nothing", "", 0, errDown},
		{"the original cluster is back", "first", 1, nil},
		{"it still answers, without a message", "first", 0, nil},
		{"another cluster answers again", "second", 1, ErrVirtualClusterReplaced},
	}
	for _, step := range steps {
		server.uid, logged = step.uid, nil
		if err := p.verify(t.Context()); !errors.Is(err, step.want) || len(logged) != step.lines {
			t.Errorf("%s: got error %v, logged %q", step.reason, err, logged)
		}
	}
}
