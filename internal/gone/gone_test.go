package gone_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/pkg/errors"
)

var (
	policies  = schema.GroupResource{Group: networkingv1.GroupName, Resource: "networkpolicies"}
	ingresses = schema.GroupResource{Group: networkingv1.GroupName, Resource: "ingresses"}
	secrets   = corev1.Resource("secrets")
)

// page returns the error of a client for a 404 whose body is no answer of an API server.
func page(of schema.GroupResource, name string) error {
	return kerrors.NewGenericServerResponse(http.StatusNotFound, http.MethodGet, of, name, "404 page not found", 0,
		true)
}

// bare returns a 404 with these details, and no more.
func bare(details *metav1.StatusDetails) error {
	return &kerrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotFound,
		Reason: metav1.StatusReasonNotFound, Details: details,
	}}
}

func TestAnswered(t *testing.T) {
	kind := schema.GroupResource{Group: policies.Group, Resource: "NetworkPolicy"}
	cases := map[string]struct {
		reason string
		err    error
		of     []schema.GroupResource
		want   bool
	}{
		"No error": {reason: "the object is there"},
		"API server": {
			reason: "it names the object and the resource",
			err:    kerrors.NewNotFound(policies, "a"), of: []schema.GroupResource{policies},
			want: true,
		},
		"Wrapped": {
			reason: "callers wrap what they return",
			err:    errors.Wrap(kerrors.NewNotFound(policies, "a"), "cannot get"), want: true,
		},
		"Cache": {
			reason: "a cache answers with the kind in the place of the resource",
			err:    kerrors.NewNotFound(kind, "a"), of: []schema.GroupResource{policies, kind},
			want: true,
		},
		"Fake": {
			reason: "a fake often leaves group and resource out",
			err:    kerrors.NewNotFound(schema.GroupResource{}, "a"),
			of:     []schema.GroupResource{policies}, want: true,
		},
		"Made-up resource": {
			reason: "a fake without the group has made the resource up",
			err:    kerrors.NewNotFound(schema.GroupResource{Resource: "things"}, "a"),
			of:     []schema.GroupResource{policies}, want: true,
		},
		"Core": {
			reason: "the core has no group", err: kerrors.NewNotFound(secrets, "a"),
			of: []schema.GroupResource{secrets}, want: true,
		},
		"Code alone": {
			reason: "IsNotFound takes the code of an unknown reason, and so does this if the name is there",
			err: &kerrors.StatusError{ErrStatus: metav1.Status{
				Code: http.StatusNotFound, Reason: "Strange",
				Details: &metav1.StatusDetails{Name: "a"},
			}},
			want: true,
		},

		"Page": {
			reason: "a client names what it asked for in the error that it makes of a page",
			err:    page(policies, "a"), of: []schema.GroupResource{policies},
		},
		"Page, wrapped": {
			reason: "the cause is found in a wrapped error",
			err:    errors.Wrap(page(policies, "a"), "cannot get"),
		},
		"No details": {reason: "a 404 of a server that is no API server has none", err: bare(nil)},
		"No name": {
			reason: "an answer about a path or a kind names no object",
			err:    bare(&metav1.StatusDetails{Group: policies.Group, Kind: policies.Resource}),
		},
		"Another name": {reason: "it is about another object", err: kerrors.NewNotFound(policies, "b")},
		"Another resource": {
			reason: "it is about an object of another kind with the same name",
			err:    kerrors.NewNotFound(ingresses, "a"), of: []schema.GroupResource{policies, kind},
		},
		"Another group": {
			reason: "it is about an object of another group with the same name",
			err:    kerrors.NewNotFound(schema.GroupResource{Group: "example.org", Resource: policies.Resource}, "a"),
			of:     []schema.GroupResource{policies},
		},
		"Namespace": {
			reason: "the namespace of a Secret is missing, and has the name of the Secret",
			err:    kerrors.NewNotFound(corev1.Resource("namespaces"), "a"),
			of:     []schema.GroupResource{secrets},
		},
		"Other answers": {
			reason: "only NotFound says that an object does not exist",
			err:    kerrors.NewResourceExpired("a"),
		},
		"Other errors": {reason: "an error that is no answer says nothing", err: errors.New("not found")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := gone.Answered(tc.err, "a", tc.of...); got != tc.want {
				t.Errorf("Answered(%v): %t, want %t: %s", tc.err, got, tc.want, tc.reason)
			}
			wantErr := tc.err
			if tc.want {
				wantErr = nil
			}
			if got := gone.Ignore(tc.err, "a", tc.of...); !errors.Is(got, wantErr) {
				t.Errorf("Ignore(%v): %v, want %v: %s", tc.err, got, wantErr, tc.reason)
			}
		})
	}
	for reason, tc := range map[string]struct {
		err  error
		want bool
	}{
		"it says which object":      {err: kerrors.NewNotFound(policies, "b"), want: true},
		"a page is no answer":       {err: page(policies, "a")},
		"it names no object":        {err: bare(&metav1.StatusDetails{})},
		"it has no details":         {err: bare(nil)},
		"another answer is no 404":  {err: kerrors.NewResourceExpired("a")},
		"there is no error at all":  {},
		"it is found when wrapped":  {err: errors.Wrap(kerrors.NewNotFound(policies, "b"), "cannot get"), want: true},
		"an error without a status": {err: errors.New("not found")},
	} {
		if got := gone.Named(tc.err); got != tc.want {
			t.Errorf("Named(%v): %t, want %t: %s", tc.err, got, tc.want, reason)
		}
	}
	if gone.Answered(bare(&metav1.StatusDetails{}), "") {
		t.Error("Answered without a name: true, want false: no answer names an object without a name")
	}
}

func TestUnserved(t *testing.T) {
	for reason, tc := range map[string]struct {
		err  error
		want bool
	}{
		"a page is":                          {err: errors.Wrap(page(policies, "a"), "cannot get"), want: true},
		"an answer that names the object no": {err: kerrors.NewNotFound(policies, "a")},
		"a page with another code is not": {err: kerrors.NewGenericServerResponse(http.StatusBadGateway,
			http.MethodGet, policies, "a", "502", 0, true)},
		"a 404 without a name is":        {err: bare(&metav1.StatusDetails{Kind: "networkpolicies"}), want: true},
		"a kind that no mapper knows is": {err: &meta.NoKindMatchError{}, want: true},
		"no error is not":                {},
	} {
		if got := gone.Unserved(tc.err); got != tc.want {
			t.Errorf("%s: %t, want %t", reason, got, tc.want)
		}
	}
}

// A reader is a reader that cannot map objects to kinds and resources.
type reader struct{ client.Reader }

func TestConfirmed(t *testing.T) {
	policy := func(uid string) *networkingv1.NetworkPolicy {
		return &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: "a", UID: "u1", Labels: map[string]string{"of": uid},
		}}
	}
	asked := policy("asked")
	other := policy("other")
	other.UID = "u2"
	named := policy("named")
	named.UID = ""
	untyped := &unstructured.Unstructured{}
	untyped.SetGroupVersionKind(networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"))
	untyped.SetNamespace("team")
	untyped.SetName("a")
	unmapped := untyped.DeepCopy()
	unmapped.SetAPIVersion("example.org/v1")
	boom := errors.New("boom")

	cases := map[string]struct {
		reason  string
		there   client.Object // in the API server
		err     error         // its answer, if it is not that of controller-runtime's fake
		obj     client.Object
		blind   bool // the reader cannot map kinds
		want    bool
		wantErr bool
	}{
		"Gone":          {reason: "the API server names the object", obj: asked, want: true},
		"Gone, untyped": {reason: "an object without a Go type has its kind with it", obj: untyped, want: true},
		"Gone, blind": {
			reason: "a reader that cannot tell kinds is believed", obj: asked, blind: true,
			want: true,
		},
		"There":    {reason: "it is the same object", there: policy("same"), obj: asked},
		"Replaced": {reason: "another object has its name", there: other, obj: asked, want: true},
		"Without a UID": {
			reason: "an object is asked for by its name if its UID is not known", there: other,
			obj: named,
		},
		"Shown without one": {reason: "an object without a UID comes from no API server", there: named, obj: asked},
		"Made-up resource": {
			reason: "interceptors make resources up",
			err:    kerrors.NewNotFound(schema.GroupResource{Resource: "things"}, "a"), obj: asked,
			want: true,
		},
		"By kind": {
			reason: "some servers answer with the kind",
			err:    kerrors.NewNotFound(schema.GroupResource{Group: policies.Group, Resource: "NetworkPolicy"}, "a"),
			obj:    asked, want: true,
		},
		"Kind, not mapped": {
			reason: "a kind that no mapper knows is not compared",
			err:    kerrors.NewNotFound(schema.GroupResource{Group: "example.org", Resource: "things"}, "a"),
			obj:    unmapped, want: true,
		},
		"Page": {reason: "a proxy has answered", err: page(policies, "a"), obj: asked, wantErr: true},
		"Page, blind": {
			reason: "a proxy has answered", err: page(policies, "a"), obj: asked, blind: true,
			wantErr: true,
		},
		"Another name": {
			reason: "the answer is about another object", err: kerrors.NewNotFound(policies, "b"),
			obj: asked, wantErr: true,
		},
		"Another kind": {
			reason: "the answer is about another kind of the group",
			err:    kerrors.NewNotFound(ingresses, "a"), obj: asked, wantErr: true,
		},
		"Another group": {
			reason: "the answer is about another group",
			err:    kerrors.NewNotFound(schema.GroupResource{Group: "example.org", Resource: "networkpolicies"}, "a"),
			obj:    asked, wantErr: true,
		},
		"Not asked": {reason: "without an answer nothing is known", err: boom, obj: asked, wantErr: true},
		"Forbidden to ask": {
			reason: "a refusal says nothing about the object",
			err:    kerrors.NewForbidden(policies, "a", boom), obj: asked, wantErr: true,
		},
		"Unserved, no names": {reason: "the kind is not served", err: bare(nil), obj: asked, wantErr: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			mapper := meta.NewDefaultRESTMapper(nil)
			mapper.Add(networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"), meta.RESTScopeNamespace)
			b := fake.NewClientBuilder().WithRESTMapper(mapper)
			if tc.there != nil {
				b.WithObjects(tc.there.DeepCopyObject().(client.Object))
			}
			if tc.err != nil {
				b.WithInterceptorFuncs(interceptor.Funcs{Get: func(context.Context, client.WithWatch,
					client.ObjectKey, client.Object, ...client.GetOption) error {
					return tc.err
				}})
			}
			var live client.Reader = b.Build()
			if tc.blind {
				live = reader{live}
			}
			obj := tc.obj.DeepCopyObject().(client.Object)
			got, err := gone.Confirmed(t.Context(), live, obj)
			if got != tc.want || (err != nil) != tc.wantErr {
				t.Errorf("Confirmed(...): %t, %v, want %t, error %t: %s", got, err, tc.want, tc.wantErr, tc.reason)
			}
			if tc.wantErr && !errors.Is(err, tc.err) {
				t.Errorf("Confirmed(...): error %v, want one that wraps %v", err, tc.err)
			}
			if kerrors.IsNotFound(tc.err) && err != nil &&
				!strings.Contains(err.Error(), "check that its kind is served") {
				t.Errorf("Confirmed(...): error %v, want one that says what to check", err)
			}
			if obj.GetLabels()["of"] != tc.obj.GetLabels()["of"] {
				t.Errorf("Confirmed(...) changed the object that it was given: %v", obj.GetLabels())
			}
		})
	}
}

func TestIgnoreConfirmed(t *testing.T) {
	policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "a", UID: "u1"}}
	named, boom := kerrors.NewNotFound(policies, "a"), errors.New("boom")
	for name, tc := range map[string]struct {
		reason string
		write  error // the answer to the write
		read   error // the answer to the read, if it is not that of controller-runtime's fake
		there  bool
		want   error
		says   string
	}{
		"Written":     {reason: "there is no error to ignore"},
		"Other error": {reason: "only a 404 is doubted", write: boom, want: boom},
		"Gone":        {reason: "the read confirms the answer to the write", write: named},
		"Page, gone":  {reason: "whatever 404 the write got, the read counts", write: page(policies, "a")},
		"Page, there": {
			reason: "a proxy has answered the write", write: page(policies, "a"), there: true,
			want: page(policies, "a"), says: "nothing answers in the place",
		},
		"No status": {
			reason: "a kind without the subresource has answered the write", write: named,
			there: true, want: named, says: "has the subresource",
		},
		"Page twice": {
			reason: "it is not confirmed", write: named, read: page(policies, "a"),
			want: page(policies, "a"), says: "check that its kind is served",
		},
		"No read": {reason: "it is not confirmed", write: named, read: boom, want: boom},
	} {
		t.Run(name, func(t *testing.T) {
			b := fake.NewClientBuilder()
			if tc.there {
				b.WithObjects(policy.DeepCopy())
			}
			if tc.read != nil {
				b.WithInterceptorFuncs(interceptor.Funcs{Get: func(context.Context, client.WithWatch,
					client.ObjectKey, client.Object, ...client.GetOption) error {
					return tc.read
				}})
			}
			err := gone.IgnoreConfirmed(t.Context(), b.Build(), policy, tc.write)
			if (err != nil) != (tc.want != nil) || err != nil && !strings.Contains(err.Error(), tc.want.Error()) ||
				err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("IgnoreConfirmed(%v): %v, want %v with %q: %s", tc.write, err, tc.want, tc.says, tc.reason)
			}
		})
	}
}
