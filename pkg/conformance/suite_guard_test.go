package conformance

import (
	"strings"
	"testing"

	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/store/kube"
	"github.com/moorage-dev/moorage/pkg/store/memory"
)

// TestDeletionGuard: the definition of the kind, which the deletion guard reads, always exists, independent
// of the scheme and the server of the suite.
func TestDeletionGuard(t *testing.T) {
	for name, server := range map[string]func() (ctrlclient.Client, error){
		"server": nil,
		"store": func() (ctrlclient.Client, error) {
			return kube.NewClient(scheme(), []kube.Kind{kube.Serve(memory.New[*kube.Envelope[*volume.Volume]]("volumes"))})
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDiskService(Named)
			s := d.suite(&diskClient{d})
			s.Options, s.Server, s.Replay = []managed.ReconcilerOption{managed.WithKindDeletionGuard()}, server, "delete/vol"
			k := examine(t, s)
			for _, f := range k.findings.list {
				t.Error(f)
			}
			if story := strings.Join(k.notes, "\n"); !strings.Contains(story, "live:CustomResourceDefinition#1") {
				t.Errorf("the definition is not read: %s", story)
			}
		})
	}
}
