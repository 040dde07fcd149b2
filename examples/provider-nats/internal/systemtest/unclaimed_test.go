package systemtest

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	manifests "github.com/moorage-dev/moorage/examples/provider-nats/package"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// TestBornWithAFinalizer: a delete is delayed after the API server has read the object, and meanwhile a
// client stores a finalizer successfully. An object that was created without a finalizer is removed
// nevertheless; one that was created with one stays.
func TestBornWithAFinalizer(t *testing.T) {
	for name, tc := range map[string]struct {
		policy, stays bool
	}{
		"Without": {false, false},
		"With":    {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			ns := namespace(t)
			if tc.policy {
				enforce(t, ns)
			}

			b := newBarrier(t, ns)

			mg := newStream(ns)
			must(t, kube.Create(t.Context(), mg))
			t.Cleanup(func() { release(context.Background(), mg) })

			b.closed.Store(true)

			deleted := make(chan error, 1)

			go func() { deleted <- kube.Delete(t.Context(), mg.DeepCopy()) }()

			select {
			case <-b.arrived:
			case err := <-deleted:
				t.Fatalf("the object was deleted without a review: %v", err)
			}

			patch := fmt.Sprintf(`{"metadata":{"resourceVersion":%q,"finalizers":[%q]}}`, mg.ResourceVersion,
				managed.FinalizerName)
			must(t, kube.Patch(t.Context(), mg, client.RawPatch(types.MergePatchType, []byte(patch))))

			if !slices.Equal(mg.Finalizers, []string{managed.FinalizerName}) || mg.DeletionTimestamp != nil {
				t.Errorf("finalizers %q, deleted at %v", mg.Finalizers, mg.DeletionTimestamp)
			}

			b.closed.Store(false)
			close(b.open)
			must(t, <-deleted)

			err := kube.Get(t.Context(), client.ObjectKeyFromObject(mg), mg)
			if client.IgnoreNotFound(err) != nil {
				t.Fatal(err)
			}

			if stays := err == nil; stays != tc.stays {
				t.Errorf("the object exists: %t, want %t", stays, tc.stays)
			}

			if tc.stays && mg.DeletionTimestamp == nil {
				t.Error("the object is not being deleted")
			}
		})
	}
}

func newStream(ns string) *v1alpha1.Stream {
	return &v1alpha1.Stream{ObjectMeta: metav1.ObjectMeta{Namespace: ns, GenerateName: "data-"}}
}

func within(ns string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: ns}}
}

// enforce installs the policy of the package in one namespace.
func enforce(t *testing.T, ns string) {
	t.Helper()

	policy, binding, err := manifests.Unclaimed()
	must(t, err)

	policy.Name, binding.Name, binding.Spec.PolicyName = ns, ns, ns
	policy.Spec.MatchConstraints.NamespaceSelector = within(ns)

	for _, obj := range []client.Object{policy, binding} {
		must(t, kube.Create(t.Context(), obj))
		t.Cleanup(func() { _ = kube.Delete(context.Background(), obj) })
	}

	wait.Until(t, "the policy is in force", func() bool {
		probe := newStream(ns)
		err := kube.Create(t.Context(), probe, client.DryRunAll)

		return err == nil && slices.Contains(probe.Finalizers, managed.UnclaimedFinalizer)
	})
}

// A barrier is a webhook that is called before each deletion in a namespace, when the API server has read
// the object.
type barrier struct {
	closed  atomic.Bool
	arrived chan struct{} // receives a value for each waiting deletion
	open    chan struct{}
	asked   atomic.Int64
}

func newBarrier(t *testing.T, ns string) *barrier {
	t.Helper()

	b := &barrier{arrived: make(chan struct{}, 1), open: make(chan struct{})}
	srv := httptest.NewTLSServer(b)
	t.Cleanup(srv.Close)

	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	hook := &registrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: ns},
		Webhooks: []registrationv1.ValidatingWebhook{{
			Name: "barrier.moorage.dev", NamespaceSelector: within(ns), AdmissionReviewVersions: []string{"v1"},
			ClientConfig: registrationv1.WebhookClientConfig{URL: &srv.URL, CABundle: authority},
			SideEffects:  new(registrationv1.SideEffectClassNone), TimeoutSeconds: new(int32(30)),
			Rules: []registrationv1.RuleWithOperations{{
				Operations: []registrationv1.OperationType{registrationv1.Delete},
				Rule: registrationv1.Rule{
					APIGroups: []string{v1alpha1.Group}, APIVersions: []string{"*"}, Resources: []string{"streams"},
				},
			}},
		}},
	}
	must(t, kube.Create(t.Context(), hook))
	t.Cleanup(func() { _ = kube.Delete(context.Background(), hook) })

	probe := newStream(ns)
	must(t, kube.Create(t.Context(), probe))
	t.Cleanup(func() { release(context.Background(), probe) })
	wait.Until(t, "the API server asks before it deletes", func() bool {
		must(t, kube.Delete(t.Context(), probe.DeepCopy(), client.DryRunAll))

		return b.asked.Load() > 0
	})

	return b
}

func (b *barrier) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.asked.Add(1)

	review := &admissionv1.AdmissionReview{}
	if err := json.NewDecoder(r.Body).Decode(review); err != nil || review.Request == nil {
		http.Error(w, "this is no review", http.StatusBadRequest)

		return
	}

	if b.closed.Load() {
		select {
		case b.arrived <- struct{}{}:
		default:
		}

		select {
		case <-b.open:
		case <-r.Context().Done():
		}
	}

	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	review.Request = nil
	_ = json.NewEncoder(w).Encode(review) // the API server repeats the call, or reports the failure
}
