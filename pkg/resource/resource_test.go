package resource_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource"
)

func TestIgnore(t *testing.T) {
	gr := schema.GroupResource{Resource: "buckets"}
	page := kerrors.NewGenericServerResponse(http.StatusNotFound, http.MethodGet, gr, "b", "404 page not found", 0,
		true)
	gone, conflict, boom := kerrors.NewNotFound(gr, "b"), kerrors.NewConflict(gr, "b", nil), errors.New("boom")

	cases := map[string]struct {
		reason string
		got    error
		want   error
	}{
		"Ignored":    {reason: "An error of the sort is dropped.", got: resource.Ignore(kerrors.IsConflict, conflict)},
		"NotIgnored": {reason: "Another stays.", got: resource.Ignore(kerrors.IsConflict, gone), want: gone},
		"Any": {reason: "One sort of several is enough.",
			got: resource.IgnoreAny(gone, kerrors.IsConflict, kerrors.IsNotFound)},
		"NotAny": {reason: "None of the sorts fits.",
			got: resource.IgnoreAny(boom, kerrors.IsConflict, kerrors.IsNotFound), want: boom},
		"NoSorts":  {reason: "Without a sort nothing is dropped.", got: resource.IgnoreAny(boom), want: boom},
		"NotFound": {reason: "Not found is dropped.", got: resource.IgnoreNotFound(errors.Wrap(gone, "cannot get"))},
		"NotFoundNoName": {reason: "Fakes may leave the name out.",
			got: resource.IgnoreNotFound(kerrors.NewNotFound(schema.GroupResource{}, ""))},
		"NotServed": {reason: "A 404 that is not about an object stays.", got: resource.IgnoreNotFound(page),
			want: page},
		"NotFoundOther":  {reason: "Another stays.", got: resource.IgnoreNotFound(boom), want: boom},
		"NotFoundOfNone": {reason: "No error stays no error.", got: resource.IgnoreNotFound(nil)},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.got != tc.want { //nolint:errorlint // The same error must be returned.
				t.Errorf("%s\ngot %v, want %v", tc.reason, tc.got, tc.want)
			}
		})
	}
}

func TestIsAPIError(t *testing.T) {
	api := kerrors.NewBadRequest("no")

	cases := map[string]struct {
		reason        string
		err           error
		bare, wrapped bool
	}{
		"API":     {reason: "An answer of the server is one.", err: api, bare: true, wrapped: true},
		"Wrapped": {reason: "A wrapped one is told apart.", err: errors.Wrap(api, "cannot"), wrapped: true},
		"Other":   {reason: "Another error is none.", err: errors.New("boom")},
		"Nil":     {reason: "No error is none."},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := resource.IsAPIError(tc.err); got != tc.bare {
				t.Errorf("%s\nIsAPIError(...) = %t, want %t", tc.reason, got, tc.bare)
			}

			if got := resource.IsAPIErrorWrapped(tc.err); got != tc.wrapped {
				t.Errorf("%s\nIsAPIErrorWrapped(...) = %t, want %t", tc.reason, got, tc.wrapped)
			}
		})
	}
}

func TestMustCreateObject(t *testing.T) {
	s := runtime.NewScheme()
	if err := corev1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(&corev1.Pod{},
		resource.MustCreateObject(corev1.SchemeGroupVersion.WithKind("Pod"), s)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}

	defer func() {
		if recover() == nil {
			t.Error("An unknown kind must panic")
		}
	}()

	resource.MustCreateObject(corev1.SchemeGroupVersion.WithKind("Widget"), s)
}

// A getClient responds to Get with its objects, and checks that no call uses
// read-your-writes.
type getClient struct {
	client.Client

	t         *testing.T
	secret    *corev1.Secret
	configMap *corev1.ConfigMap
}

func (c getClient) Get(_ context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	c.t.Helper()

	if !(&client.GetOptions{}).ApplyOptions(opts).DisableReadYourWritesConsistency {
		c.t.Error("The read takes part in read-your-writes")
	}

	if want := (client.ObjectKey{Namespace: "ns", Name: "n"}); key != want {
		return kerrors.NewNotFound(schema.GroupResource{Resource: "things"}, key.Name)
	}

	switch o := obj.(type) {
	case *corev1.Secret:
		c.secret.DeepCopyInto(o)
	case *corev1.ConfigMap:
		c.configMap.DeepCopyInto(o)
	}

	return nil
}

func TestGetValues(t *testing.T) {
	k := getClient{
		t:         t,
		secret:    &corev1.Secret{Data: map[string][]byte{"k": []byte("s3cret"), "empty": {}}},
		configMap: &corev1.ConfigMap{Data: map[string]string{"k": "text"}, BinaryData: map[string][]byte{"b": {1, 2}}},
	}
	ref := commonv1.Reference{Namespace: "ns", Name: "n"}
	other := commonv1.Reference{Namespace: "ns", Name: "other"}
	secret := func(ref *commonv1.SecretKeySelector) func() (string, error) {
		return func() (string, error) {
			known := &redact.Secrets{}
			value, err := resource.GetSecret(redact.Collect(context.Background(), known), k, ref)
			if value != "" && known.Mask().String("it is "+value) != "it is [REDACTED]" {
				t.Errorf("%q is not concealed", value)
			}

			return value, err
		}
	}
	configMap := func(ref *commonv1.ConfigMapKeySelector) func() (string, error) {
		return func() (string, error) { return resource.GetConfigMapValue(context.Background(), k, ref) }
	}

	cases := map[string]struct {
		reason   string
		get      func() (string, error)
		want     string
		err      string
		notFound bool
	}{
		"Secret": {reason: "The value comes back.",
			get: secret(&commonv1.SecretKeySelector{Reference: ref, Key: "k"}), want: "s3cret"},
		"SecretEmpty": {reason: "An empty value is a value.",
			get: secret(&commonv1.SecretKeySelector{Reference: ref, Key: "empty"})},
		"SecretNoRef": {reason: "A reference is needed.", get: secret(nil), err: "no secret is referenced"},
		"SecretNoKey": {reason: "A missing key is said, not taken for empty.",
			get: secret(&commonv1.SecretKeySelector{Reference: ref, Key: "x"}), err: `secret ns/n has no key "x"`},
		"SecretGone": {reason: "A missing Secret is told from other errors.",
			get: secret(&commonv1.SecretKeySelector{Reference: other, Key: "k"}),
			err: `cannot get secret ns/other: things "other" not found`, notFound: true},
		"ConfigMap": {reason: "Text comes back.",
			get: configMap(&commonv1.ConfigMapKeySelector{Reference: ref, Key: "k"}), want: "text"},
		"ConfigMapBinary": {reason: "Binary values come back too.",
			get: configMap(&commonv1.ConfigMapKeySelector{Reference: ref, Key: "b"}), want: "\x01\x02"},
		"ConfigMapNoRef": {reason: "A reference is needed.", get: configMap(nil), err: "no config map is referenced"},
		"ConfigMapNoKey": {reason: "A missing key is said.",
			get: configMap(&commonv1.ConfigMapKeySelector{Reference: ref, Key: "x"}),
			err: `config map ns/n has no key "x"`},
		"ConfigMapMissing": {reason: "A missing ConfigMap is told from other errors.",
			get: configMap(&commonv1.ConfigMapKeySelector{Reference: other, Key: "k"}),
			err: `cannot get config map ns/other: things "other" not found`, notFound: true},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := tc.get()
			if got != tc.want {
				t.Errorf("%s\ngot %q, want %q", tc.reason, got, tc.want)
			}

			text := ""
			if err != nil {
				text = err.Error()
			}

			if diff := cmp.Diff(tc.err, text); diff != "" {
				t.Errorf("%s\nerror: -want, +got:\n%s", tc.reason, diff)
			}

			if kerrors.IsNotFound(err) != tc.notFound {
				t.Errorf("%s\nIsNotFound(...) = %t, want %t", tc.reason, kerrors.IsNotFound(err), tc.notFound)
			}
		})
	}
}
