package managed

import (
	"context"
	"reflect"
	"testing"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

type managedList struct {
	metav1.TypeMeta
	metav1.ListMeta

	Items []fake.Managed
}

func (l *managedList) DeepCopyObject() runtime.Object { return &managedList{Items: l.Items} }

// Originals are a cluster whose cache shows some objects, and whose API server shows one.
type originals struct {
	Cluster
	client.Client

	scheme             *runtime.Scheme
	shows              []fake.Managed
	live               *fake.Managed // nil: it is not there
	listErr, liveErr   error
	listed, askedOfAPI int
}

func (o *originals) GetAPIReader() client.Reader { return o }
func (o *originals) GetScheme() *runtime.Scheme  { return o.scheme }

func (o *originals) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	o.listed++
	if l, ok := list.(*managedList); ok {
		l.Items = o.shows
	}

	return o.listErr
}

func (o *originals) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	o.askedOfAPI++
	if o.live == nil && o.liveErr == nil {
		return kerrors.NewNotFound(schema.GroupResource{Resource: "volumes"}, key.Name)
	}
	if o.live != nil && o.live.Name == key.Name {
		*into.(*fake.Managed) = *o.live
	}

	return o.liveErr
}

// TestWhoAnswersForACopiedAttempt verifies that an object inherits a pending or unobserved attempt only if the
// original is neither in the cache nor at the API server, and that nothing is read otherwise.
func TestWhoAnswersForACopiedAttempt(t *testing.T) {
	boom := errors.New("boom")
	theirs, others := *bearing(nil), *bearing(nil) // the attempt is that of "uid-1"
	theirs.Name, others.Name, others.UID = "theirs", "others", "uid-3"
	recreated := *theirs.DeepCopyObject().(*fake.Managed)
	recreated.UID = "uid-4"
	done := map[string]string{
		meta.AnnotationKeyCreateAttempt: ownDone, meta.AnnotationKeyExternalCreatePending: early,
		meta.AnnotationKeyExternalName: "vol-1",
	}
	pending := map[string]string{meta.AnnotationKeyCreateAttempt: ownID, meta.AnnotationKeyExternalCreatePending: early}
	and := func(marks map[string]string, key, value string) map[string]string {
		all := map[string]string{}
		for k, v := range marks {
			all[k] = v
		}
		all[key] = value

		return all
	}
	absent := func(p *pass) { p.observed = true }
	cases := map[string]struct {
		reason string
		marks  map[string]string
		change func(*pass)
		of     originals
		want   string
		called bool // it is an attempt whose result is not known
		asks   bool
		fails  bool
	}{
		"Pending": {"it was under way during the backup", pending, nil, originals{shows: []fake.Managed{others}},
			ownID, true, true, false},
		"Copy": {"the other one is there", pending, nil,
			originals{shows: []fake.Managed{others, theirs}, live: &theirs}, "", false, true, false},
		"Gone": {"the API server does not have it any more", pending, nil,
			originals{shows: []fake.Managed{theirs, others}}, ownID, true, true, false},
		"Recreated": {"it has another one of the name", pending, nil,
			originals{shows: []fake.Managed{theirs}, live: &recreated}, ownID, true, true, false},
		"Unlisted": {"nobody can tell", pending, nil, originals{listErr: boom}, "", false, true, true},
		"Unread": {"nor can anybody here", pending, nil,
			originals{shows: []fake.Managed{theirs}, live: &theirs, liveErr: boom}, "", false, true, true},
		"Own": {"it is the object's own", pending, func(p *pass) { p.mg.SetUID(ownerUID) }, originals{}, "",
			false, false, false},
		"Named": {"under a name of our choice nothing is made twice", pending,
			func(p *pass) { p.r.named = true }, originals{}, "", false, false, false},
		"Abandoned": {"its user has given it up", and(pending, meta.AnnotationKeyAbandonAttempt, ownID), nil,
			originals{}, "", false, false, false},
		"Failed": {"it has made nothing", and(pending, meta.AnnotationKeyCreateAttempt, ownID+"/failed"),
			absent, originals{}, "", false, false, false},
		"Done": {"what it made is looked for first", done, nil, originals{}, "", false, false, false},
		"Found": {"and it is there", done,
			func(p *pass) { p.observed, p.observation.ResourceExists = true, true }, originals{}, "", false, false,
			false},
		"Missing": {"or is not", done, absent, originals{}, ownID, false, true, false},
		"MissingCopy": {"and is another one's", done, absent,
			originals{shows: []fake.Managed{theirs}, live: &theirs}, "", false, true, false},
		"Nameless": {"what has no name cannot be missing", and(done, meta.AnnotationKeyExternalName, ""), absent,
			originals{}, "", false, false, false},
	}
	for name, tc := range cases {
		mg := bearing(tc.marks)
		mg.SetUID("uid-2")
		p := passOf(mg, &objectState{})
		tc.of.scheme = runtime.NewScheme()
		p.r.of.Group, p.r.of.Version, p.r.of.Kind = "g", "v1", "K"
		tc.of.scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "KList"},
			&managedList{})
		p.r.client, p.r.cluster, p.r.empty, p.inherited = &tc.of, &tc.of, reflect.TypeFor[fake.Managed](), "before"
		if tc.change != nil {
			tc.change(p)
		}
		err := p.inherit(t.Context())
		if p.inherited != tc.want || (err != nil) != tc.fails ||
			tc.fails && (stageOf(err) != observing || !errors.Is(err, boom)) {
			t.Errorf("%s: %s: it answers for %q, and ended with %v", name, tc.reason, p.inherited, err)
		}
		if called := p.state.Called == (objectstate.Intent{Pending: early, Attempt: ownID}); called != tc.called ||
			(tc.of.listed > 0) != tc.asks {
			t.Errorf("%s: %s: called %+v, listed %d times", name, tc.reason, p.state.Called, tc.of.listed)
		}
		if tc.of.askedOfAPI > tc.of.listed {
			t.Errorf("%s: %s: the API server was asked %d times", name, tc.reason, tc.of.askedOfAPI)
		}
	}
}

// TestACopiedAttemptThatIsKnown verifies that known marks are not overwritten, and that a kind that cannot be
// listed is reported.
func TestACopiedAttemptThatIsKnown(t *testing.T) {
	known := objectstate.Intent{Pending: later, Attempt: "b"}
	mg := bearing(map[string]string{
		meta.AnnotationKeyCreateAttempt: ownID, meta.AnnotationKeyExternalCreatePending: early,
	})
	mg.SetUID("uid-2")
	of := &originals{scheme: runtime.NewScheme()}
	p := passOf(mg, remembering(objectstate.Attempts{Called: known}))
	p.r.client, p.r.cluster, p.r.of.Group, p.r.of.Version, p.r.of.Kind = of, of, "g", "v1", "K"
	if err := p.inherit(t.Context()); stageOf(err) != observing || of.listed > 0 {
		t.Errorf("a kind that cannot be listed: %v, listed %d times", err, of.listed)
	}
	of.scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "KList"}, &managedList{})
	if err := p.inherit(t.Context()); err != nil || p.inherited != ownID || p.state.Called != known {
		t.Errorf("it answers for %q, known of is %+v: %v", p.inherited, p.state.Called, err)
	}
}
