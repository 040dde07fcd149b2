package translator_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	syncertesting "github.com/moorage-dev/moorage/pkg/syncer/testing"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
	"github.com/moorage-dev/moorage/pkg/translate"
)

// virtualConfigMap returns a virtual object with metadata.
func virtualConfigMap() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "a", UID: "1", ResourceVersion: "7", Finalizers: []string{"x/y"},
			OwnerReferences: []metav1.OwnerReference{{Name: "o"}},
			Labels:          map[string]string{"app": "x"},
			Annotations:     map[string]string{"note": "n", "private": "p"},
		},
		Data: map[string]string{"key": "value"},
	}
}

// newTranslatorTest returns the contexts of two in-memory clusters and a translator.
func newTranslatorTest(
	t *testing.T,
) (*synccontext.RegisterContext, *synccontext.SyncContext, translator.NamespacedTranslator) {
	t.Helper()
	scheme := syncertesting.NewScheme()
	p, v := syncertesting.NewFakeClient(scheme), syncertesting.NewFakeClient(scheme)
	reg := syncertesting.NewFakeRegisterContext(p, v)
	reg.Names = &translate.Names{Suffix: "red", Cluster: "c1"}
	s := translator.NewNamespacedTranslator(reg, "maps", &corev1.ConfigMap{}, "private")
	if err := s.RegisterIndices(reg); err != nil {
		t.Fatal(err)
	}
	return reg, synccontext.ConvertContext(reg, "test"), s
}

// TestTranslateMetadata verifies the complete metadata of a new host object.
func TestTranslateMetadata(t *testing.T) {
	_, _, s := newTranslatorTest(t)
	want := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "test", Name: "a-x-ns-x-red",
			Labels: map[string]string{
				"vcluster.loft.sh/label-red-x-a172cedcae": "x",
				"vcluster.loft.sh/managed-by":             "red", "vcluster.loft.sh/namespace": "ns",
			},
			Annotations: map[string]string{
				"note": "n", "vcluster.loft.sh/managed-annotations": "note", "vcluster.loft.sh/object-name": "a",
				"vcluster.loft.sh/object-namespace": "ns", "vcluster.loft.sh/object-uid": "1", "moorage.dev/backend-identity": "c1",
			},
		},
		Data: map[string]string{"key": "value"},
	}
	if diff := cmp.Diff(client.Object(want), s.TranslateMetadata(virtualConfigMap())); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestTranslateMetadataUpdate verifies which annotations and labels of an existing host
// object change.
func TestTranslateMetadataUpdate(t *testing.T) {
	cases := map[string]struct {
		reason  string
		change  func(vObj, pObj *corev1.ConfigMap)
		changed bool
		check   func(annotations, labels map[string]string) bool
	}{
		"Same": {
			reason: "Equal metadata does not differ.", change: func(_, _ *corev1.ConfigMap) {},
		},
		"Added": {
			reason: "A new annotation is copied.", changed: true,
			change: func(v, _ *corev1.ConfigMap) { v.Annotations["more"] = "m" },
			check: func(a, _ map[string]string) bool {
				return a["more"] == "m" && a[translator.ManagedAnnotationsAnnotation] == "more\nnote"
			},
		},
		"Removed": {
			reason: "A copied annotation that is gone is removed.", changed: true,
			change: func(v, _ *corev1.ConfigMap) { delete(v.Annotations, "note") },
			check:  func(a, _ map[string]string) bool { _, there := a["note"]; return !there },
		},
		"HostOnly": {
			reason: "An annotation that the host has added is kept.",
			change: func(_, p *corev1.ConfigMap) { p.Annotations["host"] = "h" },
			check:  func(a, _ map[string]string) bool { return a["host"] == "h" },
		},
		"Controller": {
			reason: "The controller label is kept.",
			change: func(_, p *corev1.ConfigMap) { p.Labels[translate.ControllerLabel] = "c" },
			check:  func(_, l map[string]string) bool { return l[translate.ControllerLabel] == "c" },
		},
		"Forged": {
			reason: "A forged list of copied keys does not remove ownership marks.",
			change: func(_, p *corev1.ConfigMap) {
				p.Annotations[translator.ManagedAnnotationsAnnotation] = translator.NameAnnotation
			},
			changed: true,
			check:   func(a, _ map[string]string) bool { return a[translator.NameAnnotation] == "a" },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, _, s := newTranslatorTest(t)
			v := virtualConfigMap()
			p := s.TranslateMetadata(v).(*corev1.ConfigMap)
			tc.change(v, p)
			changed, annotations, labels := s.TranslateMetadataUpdate(v, p)
			if changed != tc.changed || tc.check != nil && !tc.check(annotations, labels) {
				t.Errorf("%s\ngot changed %t, annotations %v, labels %v", tc.reason, changed, annotations, labels)
			}
		})
	}
}

// TestSyncDownCreateAndUpdate verifies that a create never changes an existing object,
// that an update sends only the difference, and that a stale update is a conflict.
func TestSyncDownCreateAndUpdate(t *testing.T) {
	ctx := context.Background()
	reg, sync, s := newTranslatorTest(t)
	v := virtualConfigMap()
	p := s.TranslateMetadata(v).(*corev1.ConfigMap)
	if _, err := s.SyncDownCreate(sync, v, p); err != nil {
		t.Fatal(err)
	}
	if p.ResourceVersion == "" || len(p.ManagedFields) != 1 || p.ManagedFields[0].Manager != "moorage-syncer-maps" {
		t.Errorf("the response of the API server is not decoded: %v", p)
	}
	if _, err := s.SyncDownCreate(sync, v, s.TranslateMetadata(v)); !apierrors.IsConflict(err) {
		t.Errorf("created twice: %v", err)
	}

	// Another client writes, and a key of the syncer is removed.
	other := p.DeepCopy()
	other.Data["theirs"] = "t"
	if err := reg.PhysicalManager.GetClient().Update(ctx, other, client.FieldOwner("other")); err != nil {
		t.Fatal(err)
	}
	updated := other.DeepCopy()
	updated.Data = map[string]string{"new": "n", "theirs": "t"}
	if _, err := s.SyncDownUpdate(sync, v, updated); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"new": "n", "theirs": "t"}, stored(t, sync, p).Data); diff != "" {
		t.Errorf("after an apply: -want, +got:\n%s", diff)
	}

	// The syncer removes the field of the other client as well.
	updated = stored(t, sync, p)
	updated.Data = map[string]string{"new": "n"}
	if _, err := s.SyncDownUpdate(sync, v, updated); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"new": "n"}, stored(t, sync, p).Data); diff != "" {
		t.Errorf("after a patch: -want, +got:\n%s", diff)
	}

	before := stored(t, sync, p)
	var none *corev1.ConfigMap
	for what, obj := range map[string]client.Object{"nil": nil, "nil pointer": none, "the same": before.DeepCopy()} {
		if _, err := s.SyncDownUpdate(sync, v, obj); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if now := stored(t, sync, p); now.ResourceVersion != before.ResourceVersion {
		t.Error("an unchanged object was written")
	}
	if _, err := s.SyncDownUpdate(sync, v, p); !apierrors.IsConflict(err) {
		t.Errorf("a stale update: got error %v", err)
	}
}

// stored returns the stored state of a host object.
func stored(t *testing.T, sync *synccontext.SyncContext, of client.Object) *corev1.ConfigMap {
	t.Helper()
	m := &corev1.ConfigMap{}
	if err := sync.PhysicalClient.Get(context.Background(), client.ObjectKeyFromObject(of), m); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestLookupWithoutAnnotations verifies that the index finds the owners of images without
// annotations, and that an image with two claims is not managed.
func TestLookupWithoutAnnotations(t *testing.T) {
	old := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: "test", Name: "a-x-b-x-c-x-red", Labels: map[string]string{translate.MarkerLabel: "red"},
	}}
	reg, _, s := newTranslatorTest(t)
	if got := s.PhysicalToVirtual(old); got.Name != "" {
		t.Errorf("no object has that name, got %s", got)
	}
	for n, key := range []types.NamespacedName{{Namespace: "c", Name: "a-x-b"}, {Namespace: "b-x-c", Name: "a"}} {
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
		if err := reg.VirtualManager.GetClient().Create(context.Background(), m); err != nil {
			t.Fatal(err)
		}
		managed, err := s.IsManaged(old)
		if err != nil || managed != (n == 0) {
			t.Errorf("with %d claims: managed %t, %v", n+1, managed, err)
		}
		if got := s.PhysicalToVirtual(old); n == 0 && got != key || n == 1 && got.Name != "" {
			t.Errorf("with %d claims: got %s", n+1, got)
		}
	}
}

// TestClusterAndMirrorTranslators verifies the names and metadata of both translators.
func TestClusterAndMirrorTranslators(t *testing.T) {
	reg, _, _ := newTranslatorTest(t)
	names := synccontext.NamesOf(reg)
	c := translator.NewClusterTranslator(reg, "nodes", &corev1.Node{}, func(name string, _ client.Object) string {
		return names.PhysicalNameClusterScoped(name, "test")
	})
	p := c.TranslateMetadata(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}})
	if p.GetName() != "vcluster-node-x-test-x-red" || p.GetLabels()[translate.MarkerLabel] != "test-x-red" {
		t.Errorf("got %v", p)
	}
	if managed, err := c.IsManaged(p); !managed || err != nil {
		t.Errorf("its own host object is not managed: %v", err)
	}
	if got := c.PhysicalToVirtual(p); got.Name != "node" {
		t.Errorf("got %s", got)
	}
	if got := c.VirtualToPhysical(types.NamespacedName{Name: "node"}, nil); got.Name != p.GetName() {
		t.Errorf("with a nil virtual object: got %s", got)
	}

	m := translator.NewMirrorPhysicalTranslator("nodes", &corev1.Node{})
	host := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", UID: "1", Labels: map[string]string{"a": "b"}}}
	if got := m.TranslateMetadata(host); got.GetUID() != "" || got.GetName() != "node" || got.GetLabels()["a"] != "b" {
		t.Errorf("got %v", got)
	}
	if changed, _, labels := m.TranslateMetadataUpdate(&corev1.Node{}, host); !changed || labels["a"] != "b" {
		t.Errorf("metadata is not copied up: %t %v", changed, labels)
	}
}

// TestClusterTranslatorLookup verifies that a failed lookup is an error, so that the
// event is retried, and that a missing index is not.
func TestClusterTranslatorLookup(t *testing.T) {
	old := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node-on-host", Labels: map[string]string{translate.MarkerLabel: "test-x-red"}},
	}
	annotated := old.DeepCopy()
	annotated.Annotations = map[string]string{translator.NameAnnotation: "node"}
	foreign := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "other"}}
	boom := errors.New("boom")
	cases := map[string]struct {
		reason  string
		obj     *corev1.Node
		err     error // of the look-up
		index   bool
		managed bool
		wantErr error
		of      string
	}{
		"Unregistered": {reason: "Without an index only the label counts.", obj: old, managed: true},
		"NotServed": {
			reason: "An API server has no such field selector.", obj: old,
			err: apierrors.NewBadRequest("field label not supported"), managed: true,
		},
		"Found": {reason: "With the index the object is found.", obj: old, index: true, managed: true, of: "node"},
		"Fails": {reason: "A failed lookup is an error.", obj: old, index: true, err: boom, wantErr: boom},
		"Annotated": {
			reason: "An object with annotations needs no lookup.", obj: annotated, index: true,
			err: boom, managed: true, of: "node",
		},
		"Foreign": {reason: "A foreign object needs no lookup.", obj: foreign, index: true, err: boom},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			scheme := syncertesting.NewScheme()
			v := &failingListClient{
				FakeIndexClient: syncertesting.NewFakeClient(scheme, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}),
				err:             tc.err,
			}
			reg := syncertesting.NewFakeRegisterContext(syncertesting.NewFakeClient(scheme), v.FakeIndexClient)
			reg.VirtualManager = &fake.Manager{Client: v, Scheme: scheme}
			reg.Names = &translate.Names{Suffix: "red"}
			if tc.index {
				byHost := func(o client.Object) []string { return []string{o.GetName() + "-on-host"} }
				if err := v.IndexField(t.Context(), &corev1.Node{}, translator.IndexByPhysicalName, byHost); err != nil {
					t.Fatal(err)
				}
			}
			c := translator.NewClusterTranslator(reg, "nodes", &corev1.Node{}, func(name string, _ client.Object) string {
				return name + "-on-host"
			})
			managed, err := c.IsManaged(tc.obj)
			if managed != tc.managed || !errors.Is(err, tc.wantErr) {
				t.Errorf("%s\ngot managed %t, %v", tc.reason, managed, err)
			}
			if got := c.PhysicalToVirtual(tc.obj); managed && got.Name != tc.of {
				t.Errorf("%s\ngot the name %q, want %q", tc.reason, got.Name, tc.of)
			}
		})
	}
}

// A failingListClient is a client whose lists fail if it has an error.
type failingListClient struct {
	*syncertesting.FakeIndexClient

	err error
}

func (b *failingListClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if b.err != nil {
		return b.err
	}
	return b.FakeIndexClient.List(ctx, list, opts...)
}

// TestLabelSelectors verifies the conversion and the merge of selectors.
func TestLabelSelectors(t *testing.T) {
	key := translator.ConvertLabelKey("app")
	in := &metav1.LabelSelector{
		MatchLabels:      map[string]string{"app": "x"},
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpExists}},
	}
	want := &metav1.LabelSelector{
		MatchLabels:      map[string]string{key: "x"},
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: metav1.LabelSelectorOpExists}},
	}
	if diff := cmp.Diff(want, translator.TranslateLabelSelector(in)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	want.MatchLabels[translate.MarkerLabel] = "test-x-suffix"
	if diff := cmp.Diff(want, translator.TranslateLabelSelectorCluster("test", in)); diff != "" {
		t.Errorf("cluster: -want, +got:\n%s", diff)
	}
	if got := translator.TranslateLabelSelector(nil); got != nil {
		t.Errorf("nil stays nil, got %v", got)
	}
	merged, err := metav1.LabelSelectorAsSelector(translator.MergeLabelSelectors(nil, in, &metav1.LabelSelector{
		MatchLabels: map[string]string{"app": "y"},
	}))
	if err != nil {
		t.Fatal(err)
	}
	for _, app := range []string{"x", "y"} {
		if merged.Matches(labelSet{"app": app}) {
			t.Errorf("%s is selected although the selectors contradict each other", app)
		}
	}
	if diff := cmp.Diff([]string{"b", "a"}, translator.UniqueSlice([]string{"b", "a", "b"})); diff != "" {
		t.Errorf("UniqueSlice: -want, +got:\n%s", diff)
	}
}

type labelSet map[string]string

func (s labelSet) Has(k string) bool              { _, ok := s[k]; return ok }
func (s labelSet) Get(k string) string            { return s[k] }
func (s labelSet) Lookup(k string) (string, bool) { v, ok := s[k]; return v, ok }
