package stories

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/changelog"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/providerconfig"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/test"
)

// An everything is a provider that uses all features of the runtime: snapshots with references
// to volumes, connection Secrets, policies, a configuration whose users are counted,
// initializers, a change log, requests for a reconcile, and conditions for tools.
type everything struct {
	*Provider

	configs providerconfig.Kinds
	log     *changes
}

func startEverything(t *testing.T, at Place) *everything {
	t.Helper()
	p, m := at(t)
	p.Cloud = &volume.Cloud{}
	e := &everything{Provider: p, configs: providerconfig.Kinds{Namespaced: &volume.ProviderConfig{}}, log: &changes{}}
	err := managed.Setup(m, volume.SnapshotKind, p.options(),
		managed.WithExternalConnecter(managed.ExternalConnectorFn(func(ctx context.Context,
			mg resource.Managed) (managed.ExternalClient, error) {
			if _, err := providerconfig.Get(ctx, m.GetClient(), mg, e.configs); err != nil {
				return nil, err
			}

			return p.Cloud.Connect(ctx, mg)
		})),
		managed.WithInitializers(managed.InitializerFn(func(_ context.Context, mg resource.Managed) error {
			meta.AddLabels(mg, map[string]string{"initialised": "yes"})

			return nil
		})),
		managed.WithPollInterval(100*time.Millisecond),
		managed.WithKstatusConditions(),
		managed.WithChangeLog(e.log),
	)
	if err != nil {
		t.Fatal(err)
	}
	if err := providerconfig.Setup(m, e.configs, []providerconfig.User{&volume.Snapshot{}},
		providerconfig.WithCountInterval(100*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	Operate(t, m)
	e.make(&volume.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: "default"}})

	return e
}

func (e *everything) make(o client.Object) {
	e.Helper()
	if err := e.API.Create(e.Context(), o); err != nil {
		e.Fatal(err)
	}
}

func (e *everything) snapshot(i int) *volume.Snapshot {
	return &volume.Snapshot{ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: fmt.Sprintf("s%d", i)},
		Spec: volume.SnapshotSpec{
			SizeGiB: 1, ManagementPolicies: commonv1.ManagementPolicies{"*"},
			VolumeRef:                  &commonv1.NamespacedReference{Name: fmt.Sprintf("v%d", i)},
			WriteConnectionSecretToRef: &commonv1.LocalSecretReference{Name: fmt.Sprintf("login-%d", i)},
			ProviderConfigRef:          &commonv1.ProviderConfigReference{Name: "default"},
		}}
}

// every waits until a condition holds for every snapshot. The condition receives nil for a snapshot that is gone.
func (e *everything) every(what string, holds func(*volume.Snapshot) bool) {
	e.Helper()
	for i := range objects {
		Eventually(e.T, what, func() bool {
			s := e.snapshot(i)
			err := e.API.Get(e.Context(), client.ObjectKeyFromObject(s), s)

			return err == nil && holds(s) || client.IgnoreNotFound(err) == nil && err != nil && holds(nil)
		})
	}
}

// change patches every snapshot.
func (e *everything) change(change func(*volume.Snapshot)) {
	e.Helper()
	for i := range objects {
		s := e.snapshot(i)
		if err := e.API.Get(e.Context(), client.ObjectKeyFromObject(s), s); err != nil {
			e.Fatal(err)
		}
		before := client.MergeFrom(s.DeepCopyObject().(client.Object)) // a snapshot is an object
		change(s)
		if err := e.API.Patch(e.Context(), s, before); err != nil {
			e.Fatal(err)
		}
	}
}

// spent prints and checks the requests per object for snapshots, and for the Secrets and
// configurations beside them.
func (e *everything) spent(name string, snapshots, secrets, configs float64) {
	e.Helper()
	e.settled(2)
	e.quiet()
	sent := map[string]float64{}
	for _, r := range e.Ledger.Objects() {
		kind, _, _ := strings.Cut(r.Resource, "/")
		sent[kind]++
	}
	for kind, most := range map[string]float64{"snapshots": snapshots, "secrets": secrets} {
		Figure("requests "+name+" "+kind, sent[kind]/objects)
		if got := sent[kind] / objects; got > most {
			e.Errorf("%s: %.1f requests per object to %s, want at most %.0f: %s", name, got, kind, most,
				test.SummarizeRequests(e.Ledger.Objects()))
		}
		delete(sent, kind)
	}
	// The requests for a configuration do not depend on the number of its users.
	Figure("requests "+name+" providerconfigs in all", sent["providerconfigs"])
	if sent["providerconfigs"] > configs {
		e.Errorf("%s: %.0f requests to configurations, want at most %.0f", name, sent["providerconfigs"], configs)
	}
	delete(sent, "providerconfigs")
	if len(sent) > 0 {
		e.Errorf("%s: other requests: %v", name, sent)
	}
	e.Ledger.Reset()
}

// RequestBudgetWithEverything checks the number of requests with every feature in use. An object needs the requests
// that it needs without the features, and one more for its Secret when the Secret is written. It needs no request in
// the steady state.
func RequestBudgetWithEverything(t *testing.T, at Place) {
	t.Helper()
	e := startEverything(t, at)
	for i := range objects {
		e.make(e.snapshot(i))
	}
	e.every("waits for its volume", func(s *volume.Snapshot) bool {
		return s.GetCondition("Synced").Reason == commonv1.ReasonReferenceNotReady
	})
	e.quiet()
	e.Ledger.Reset()
	for i := range objects {
		v := NewVolume(e.Namespace, fmt.Sprintf("v%d", i))
		meta.SetExternalName(v, fmt.Sprintf("vol-%d", i))
		e.make(v)
	}
	// The snapshots become ready by a watch, at once: ten poll intervals would be a second.
	e.every("ready", func(s *volume.Snapshot) bool { return s.GetCondition("Ready").Status == "True" })
	e.spent("create to ready everything", 3, 1, 2)
	e.checkSecrets()

	e.settled(20)
	e.spent("steady everything", 0, 0, 0)

	e.change(func(s *volume.Snapshot) { s.Spec.SizeGiB = 2 })
	e.every("updated", func(s *volume.Snapshot) bool {
		return s.Status.ObservedGeneration == s.Generation && s.GetCondition("UpToDate").Status == "True"
	})
	e.spent("update by the user everything", 1, 0, 0)

	e.change(func(s *volume.Snapshot) {
		meta.AddAnnotations(s, map[string]string{meta.AnnotationKeyReconcileRequestedAt: "now"})
	})
	e.every("request handled", func(s *volume.Snapshot) bool { return s.Status.LastHandledReconcileAt == "now" })
	e.spent("reconcile request everything", 1, 1, 0)

	for i := range objects {
		if err := e.API.Delete(t.Context(), e.snapshot(i)); err != nil {
			t.Fatal(err)
		}
	}
	e.every("gone", func(s *volume.Snapshot) bool { return s == nil })
	e.quiet()
	Figure("changes logged", len(e.log.operations()))
	if got := len(e.log.operations()); got != 3*objects {
		t.Errorf("%d changes were logged, want %d: %v", got, 3*objects, e.log.operations())
	}
	e.log.expectNo(t, "password-of-")
}

func (e *everything) checkSecrets() {
	e.Helper()
	for i := range objects {
		s := &corev1.Secret{}
		if err := e.API.Get(e.Context(), client.ObjectKey{Namespace: e.Namespace, Name: fmt.Sprintf("login-%d", i)},
			s); err != nil {
			e.Fatal(err)
		}
		if !strings.HasPrefix(string(s.Data["password"]), "password-of-vol-") {
			e.Errorf("secret %d: %v", i, s.Data)
		}
	}
	c := &volume.ProviderConfig{}
	Eventually(e.T, "users counted", func() bool {
		return e.API.Get(e.Context(), client.ObjectKey{Namespace: e.Namespace, Name: "default"}, c) == nil &&
			c.Status.Users == objects
	})
}

// A changes value is a sink of the change log.
type changes struct {
	mu      sync.Mutex
	entries []changelog.Entry
}

func (c *changes) Record(_ context.Context, e changelog.Entry) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries = append(c.entries, e)

	return nil
}

func (c *changes) operations() []changelog.Operation {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []changelog.Operation
	for _, e := range c.entries {
		all = append(all, e.Operation)
	}

	return all
}

func (c *changes) expectNo(t *testing.T, secret string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	text, err := json.Marshal(c.entries)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), secret) || !strings.Contains(string(text), "vol-") {
		t.Errorf("the change log: %s", text)
	}
}
