package managed

import (
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// TestUnexpectedAbsence verifies that only the absence of an observed resource is doubted, also under another name.
func TestUnexpectedAbsence(t *testing.T) {
	done := map[string]string{
		meta.AnnotationKeyExternalName: "vol-2", meta.AnnotationKeyCreateAttempt: ownDone,
		meta.AnnotationKeyExternalCreateSucceeded: later,
	}
	replaced := map[string]string{meta.AnnotationKeyExternalName: "vol-2"}
	pending := map[string]string{
		meta.AnnotationKeyExternalName: "vol-2", meta.AnnotationKeyCreateAttempt: ownID,
		meta.AnnotationKeyExternalCreatePending: early,
	}
	as := func(name string) objectstate.CreationRef { return objectstate.CreationRef{Mark: ownDone, Name: name} }
	for name, tc := range map[string]struct {
		marks    map[string]string
		seen     objectstate.CreationRef // by this process
		inStatus objectstate.CreationRef // by the status
		change   func(*pass)
		want     time.Duration
	}{
		"it never showed":              {marks: done},
		"it was seen":                  {marks: done, seen: as("vol-2"), want: absenceGrace},
		"an earlier process saw it":    {marks: done, inStatus: as("vol-2"), want: absenceGrace},
		"under another name":           {marks: done, seen: as("vol-1"), want: absenceGrace},
		"under another name, earlier":  {marks: done, inStatus: as("vol-1"), want: absenceGrace},
		"nobody knows what was made":   {marks: pending, seen: as("vol-2")},
		"under a name of our choice":   {marks: done, seen: as("vol-2"), change: func(p *pass) { p.r.named = true }},
		"a replace wrote another name": {marks: replaced, seen: as("vol-1"), want: absenceGrace},
		"and it was seen earlier":      {marks: replaced, inStatus: as("vol-1"), want: absenceGrace},
		"it wrote the same name":       {marks: replaced, seen: as("vol-2")},
		"of another object": {
			marks:    replaced,
			inStatus: objectstate.CreationRef{Mark: "ffffffff00000000-0badcafe/succeeded", Name: "vol-1"},
		},
		"it is there": {
			marks: done, seen: as("vol-2"),
			change: func(p *pass) { p.observation.ResourceExists = true },
		},
		"nothing was looked at": {
			marks: done, seen: as("vol-2"), change: func(p *pass) { p.observed = false },
		},
		"it is looked for by its attempt": {
			marks: done, change: func(p *pass) { p.recoveryGrace = time.Second },
			want: time.Second,
		},
		"what it is looked for is there": {
			marks:  done,
			change: func(p *pass) { p.recoveryGrace, p.observation.ResourceExists = time.Second, true },
		},
		"that is longer than a doubt": {
			marks: done, seen: as("vol-2"),
			change: func(p *pass) { p.recoveryGrace = time.Minute }, want: time.Minute,
		},
	} {
		mg := bearing(tc.marks)
		if tc.inStatus.Mark != "" {
			mg.SetConditions(commonv1.Condition{
				Type: commonv1.TypeCreated, Status: metav1.ConditionTrue,
				Reason: commonv1.ReasonObserved, Message: tc.inStatus.String(),
			})
		}
		p := passOf(mg, remembering(objectstate.Resource{Seen: tc.seen}))
		if p.observed = true; tc.change != nil {
			tc.change(p)
		}
		if got := p.notFoundGrace(); got != tc.want {
			t.Errorf("%s: doubted for %s, want %s", name, got, tc.want)
		}
	}
}

// TestWhatIsFoundIsOfItsSystem verifies that a lookup stores the backend identity with its result, and remembers
// it.
func TestWhatIsFoundIsOfItsSystem(t *testing.T) {
	w := newStored(bearing(map[string]string{
		meta.AnnotationKeyCreateAttempt: ownID, meta.AnnotationKeyExternalCreatePending: early,
	}), &objectState{})
	w.recoverer, w.backend = &finder{name: "vol-1"}, &namedSystem{name: "blue"}
	if err := w.pass.recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := w.newest.GetAnnotations(); len(w.writes.sent) != 1 ||
		got[meta.AnnotationKeyBackendIdentity] != "blue" || got[meta.AnnotationKeyExternalName] != "vol-1" {
		t.Errorf("%d writes, the object bears %v", len(w.writes.sent), got)
	}
	replaced := bearing(nil)
	if !passOf(replaced, w.state).restoreIdentity() ||
		replaced.GetAnnotations()[meta.AnnotationKeyBackendIdentity] != "blue" {
		t.Errorf("after a replace it bears %v", replaced.GetAnnotations())
	}
}

// TestWhatWasPutBackIsStoredOnce verifies that a restored record is stored once, without other changes.
func TestWhatWasPutBackIsStoredOnce(t *testing.T) {
	w := newStored(bearing(nil), &objectState{})
	w.restored = true
	for _, key := range []string{meta.AnnotationKeyExternalName, meta.AnnotationKeyOperation} {
		meta.AddAnnotations(w.mg, map[string]string{key: "x"})
		if err := w.storeRestored(t.Context()); err != nil || len(w.writes.sent) != 1 {
			t.Errorf("%s: %v, sent %q", key, err, w.writes.sent)
		}
	}
}

// An unencodable object may have a status that cannot be encoded.
type unencodable struct {
	fake.Managed

	Status struct {
		Size int `json:"size,omitempty"`
		Bad  bad `json:"bad,omitzero"`
	} `json:"status"`
}

func (o *unencodable) DeepCopyObject() runtime.Object { c := *o; return &c }

// TestAStatusThatCannotBeEncodedIsNotWritten verifies that a status that cannot be encoded is reported, and nothing
// is written.
func TestAStatusThatCannotBeEncodedIsNotWritten(t *testing.T) {
	size := func(n int) *unencodable {
		o := &unencodable{}
		o.Status.Size = n

		return o
	}
	broken := size(2)
	broken.Status.Bad = "x"
	for name, tc := range map[string]struct{ mg, read, newest *unencodable }{
		"what this pass has read":  {size(2), broken, size(3)},
		"what this pass tells":     {broken, size(2), size(3)},
		"the same, nothing is new": {broken, size(2), nil},
		"what is there now":        {size(2), size(1), broken},
	} {
		p := passOver(endingPass().r, tc.read, tc.mg, (&objectState{}).acquire(new(sync.Pool)))
		if tc.newest != nil {
			p.newest = tc.newest
		}
		c := &statusClient{answer: func(*fake.Managed) error { return nil }}
		p.r.client = c
		if err := p.patchStatus(t.Context()); err == nil || len(c.sent) != 0 {
			t.Errorf("%s: error %v, written %q", name, err, c.sent)
		}
	}
}

// TestTheFinalizerOfWhatWasCreatedIsPutBack verifies that with deterministic names a removed finalizer of an
// unobserved creation is restored.
func TestTheFinalizerOfWhatWasCreatedIsPutBack(t *testing.T) {
	here := &objectState{State: objectstate.State{Resource: objectstate.Resource{Creation: createdHere}}}
	for name, tc := range map[string]struct {
		state      *objectState
		finalizers []string
		change     func(*pass)
		want       bool
	}{
		"it is gone":          {here, nil, nil, true},
		"another's is left":   {here, []string{"example.org/kept"}, nil, true},
		"it is there":         {here, []string{FinalizerName}, nil, false},
		"nothing was created": {&objectState{}, nil, nil, false},
		"the object is let go": {here, nil,
			func(p *pass) { p.mg.SetDeletionTimestamp(&metav1.Time{Time: noon}) }, false},
		"the author has their own": {here, nil, func(p *pass) { p.r.finalizer = resource.NewNopFinalizer() }, false},
	} {
		mg := bearing(nil)
		mg.SetFinalizers(tc.finalizers)
		p := passOf(mg, tc.state, WithDeterministicExternalName(true))
		if tc.change != nil {
			tc.change(p)
		}
		if p.restore(); p.restored != tc.want {
			t.Errorf("%s: to be stored is %t", name, p.restored)
		}
	}
}
