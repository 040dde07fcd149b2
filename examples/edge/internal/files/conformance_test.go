package files_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/examples/edge/internal/files"
	v1 "github.com/moorage-dev/moorage/examples/edge/internal/v1"
	"github.com/moorage-dev/moorage/pkg/conformance"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// TestConformance: the client of files keeps the contract that the reconciler relies on.
func TestConformance(t *testing.T) { conformance.Run(t, suite(t)) }

// TestConformanceInNATS: it also does when NATS stores the objects, under every fault.
func TestConformanceInNATS(t *testing.T) {
	h := newNATSServer(t, v1.Scheme())
	serve[*v1.File](h, "files")
	s := suite(t)
	s.Server = h.empty
	conformance.Run(t, s)
	if h.made < 10 || h.calls < 3*h.made { // a slow machine has time for the short schedules only, which make few calls
		t.Errorf("%d calls came to %d buckets: the objects are somewhere else", h.calls, h.made)
	}
}

// suite returns the conformance suite of files.
func suite(t *testing.T) conformance.Suite {
	t.Helper()
	p := probe(t.TempDir())
	dir, err := files.Open(string(p), "device")
	if err != nil {
		t.Fatal(err)
	}
	sample := func(name string) *v1.File {
		return &v1.File{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: v1.FileSpec{Content: "hello\n"},
		}
	}

	return conformance.Suite{
		Kind: v1.FileKind, Scheme: v1.Scheme(), Class: conformance.Named, Probe: p, Within: 10 * time.Second,
		CallTimeout: wait.Patience(),
		Connecter:   managed.Untyped(managed.TypedExternalConnectorFn[*v1.File](dir.Connect)),
		Options:     []managed.ReconcilerOption{managed.WithDeterministicExternalName(true)},
		Samples:     []resource.Managed{sample("motd"), sample("motd-2")},
		Mutations: []conformance.Mutation{{
			Name: "rewrite", Change: func(mg resource.Managed) { mg.(*v1.File).Spec.Content = "good evening\n" },
			Want: map[string]string{"content": "good evening\n"},
		}},
	}
}

// A probe reads and changes the files of a directory directly.
type probe string

// List returns the files and their content.
func (p probe) List(context.Context) (found []conformance.Resource, err error) {
	entries, err := os.ReadDir(string(p))
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		content, readErr := os.ReadFile(filepath.Join(string(p), e.Name()))
		if readErr != nil {
			return nil, readErr
		}
		found = append(found, conformance.Resource{ID: e.Name(), State: map[string]string{"content": string(content)}})
	}

	return found, err
}

// Remove removes a file and its mark.
func (p probe) Remove(_ context.Context, id string) error {
	for _, path := range []string{id, filepath.Join(".owners", id)} {
		if err := os.Remove(filepath.Join(string(p), path)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}

	return nil
}

// Make creates a file without an owner.
func (p probe) Make(_ context.Context, mg resource.Managed) (string, error) {
	name := meta.GetExternalName(mg)

	return name, os.WriteFile(filepath.Join(string(p), name), []byte(mg.(*v1.File).Spec.Content), 0o644)
}

// Drift changes the content of a file.
func (p probe) Drift(_ context.Context, id string) error {
	return os.WriteFile(filepath.Join(string(p), id), []byte("vandals were here\n"), 0o644)
}
