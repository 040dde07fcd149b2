package managed

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// TestWhatACallTakesAwayIsPutBack verifies that a client may add metadata, and set the external name; other changes
// are reverted, unless it has read the object again.
func TestWhatACallTakesAwayIsPutBack(t *testing.T) {
	const theirs = "example.org/theirs"
	going := metav1.NewTime(noon)
	whole := func(change func(*fake.Managed)) *fake.Managed {
		mg := bearing(map[string]string{
			meta.AnnotationKeyExternalName: "vol-1", meta.AnnotationKeyCreateAttempt: ownDone,
			theirs: "a",
		})
		mg.Namespace, mg.ResourceVersion, mg.Finalizers = "apps", "7", []string{"example.org/held", FinalizerName}
		change(mg)

		return mg
	}
	as := func(*fake.Managed) {}
	annotate := func(key, value string) func(*fake.Managed) {
		return func(mg *fake.Managed) { mg.Annotations[key] = value }
	}
	nameless := func(mg *fake.Managed) { delete(mg.Annotations, meta.AnnotationKeyExternalName) }
	cases := map[string]struct {
		reason  string
		before  func(*fake.Managed)
		call    func(*fake.Managed)
		stays   func(*fake.Managed) // what of the call stays
		changed bool
	}{
		"Nothing": {"it leaves all as it is", as, as, as, false},
		"Reads": {"it has read what is stored now", as,
			func(mg *fake.Managed) { mg.ResourceVersion, mg.Annotations, mg.Finalizers = "8", nil, nil },
			func(mg *fake.Managed) { mg.ResourceVersion, mg.Annotations, mg.Finalizers = "8", nil, nil }, false},
		"Version": {"without its version no write would fail", as,
			func(mg *fake.Managed) { mg.ResourceVersion = "" }, as, false},
		"Empties": {"it decodes an answer into the object", as,
			func(mg *fake.Managed) { mg.ObjectMeta = metav1.ObjectMeta{} }, as, true},
		"Name":      {"the object is another", as, func(mg *fake.Managed) { mg.Name = "info" }, as, true},
		"Namespace": {"or elsewhere", as, func(mg *fake.Managed) { mg.Namespace = "jobs" }, as, true},
		"UID":       {"or a later one", as, func(mg *fake.Managed) { mg.UID = "uid-2" }, as, true},
		"Goes":      {"it is not deleted", as, func(mg *fake.Managed) { mg.DeletionTimestamp = &going }, as, true},
		"Stays": {"it is deleted", func(mg *fake.Managed) { mg.DeletionTimestamp = &going },
			func(mg *fake.Managed) { mg.DeletionTimestamp = nil }, as, true},
		"Held": {"it keeps what keeps it", as, func(mg *fake.Managed) { mg.Finalizers = mg.Finalizers[1:] },
			as, true},
		"Holds": {"and nothing else", as,
			func(mg *fake.Managed) { mg.Finalizers = append(mg.Finalizers, "example.org/own") }, as, true},
		"Bare":    {"what others have noted stays", as, func(mg *fake.Managed) { mg.Annotations = nil }, as, true},
		"Theirs":  {"it may change it", as, annotate(theirs, "b"), annotate(theirs, "b"), false},
		"Emptied": {"or empty it", as, annotate(theirs, ""), annotate(theirs, ""), false},
		"Own": {"it may add its own", as, annotate("example.org/own", "1"), annotate("example.org/own", "1"),
			false},
		"Mark":      {"a mark is ours", as, annotate(meta.AnnotationKeyCreateAttempt, ownID), as, true},
		"MarkAdded": {"also one that was not there", as, annotate(meta.AnnotationKeyOperation, "op-1"), as, true},
		"NameChanged": {"the external name is its business", as, annotate(meta.AnnotationKeyExternalName, "vol-2"),
			annotate(meta.AnnotationKeyExternalName, "vol-2"), false},
		"NameEmptied": {"but not to lose it", as, annotate(meta.AnnotationKeyExternalName, ""), as, true},
		"NameFound": {"it may tell the name", nameless, annotate(meta.AnnotationKeyExternalName, "vol-2"),
			annotate(meta.AnnotationKeyExternalName, "vol-2"), false},
	}
	for name, tc := range cases {
		mg, want := whole(tc.before), whole(tc.before)
		tc.stays(want)
		b := passOf(mg, &objectState{}).protectedMetadata()
		called := clone(mg).(*fake.Managed)
		tc.call(called)
		if got := b.restore(called); got != tc.changed {
			t.Errorf("%s: %s: changed is %t", name, tc.reason, got)
		}
		if diff := cmp.Diff(want, called); diff != "" {
			t.Errorf("%s: %s: -want +got:\n%s", name, tc.reason, diff)
		}
		called.Finalizers = append(called.Finalizers[:0], "example.org/own")
		if tc.changed && !slices.Equal(b.finalizers, whole(tc.before).Finalizers) {
			t.Errorf("%s: %s: what is put back is shared with the object", name, tc.reason)
		}
	}
}

// TestWhatThePassHasAddedIsPutBack verifies that metadata that the pass has added are restored, also if a call
// empties the maps and slices in place.
func TestWhatThePassHasAddedIsPutBack(t *testing.T) {
	read := bearing(map[string]string{meta.AnnotationKeyExternalName: "vol-1"})
	p := passOf(clone(read), &objectState{})
	p.newest = read
	meta.AddAnnotations(p.mg, map[string]string{meta.AnnotationKeyCreateAttempt: ownID})
	p.mg.SetFinalizers([]string{FinalizerName})
	p.mg.SetDeletionTimestamp(&metav1.Time{Time: noon.Add(time.Minute)})
	want := clone(p.mg)
	b := p.protectedMetadata()
	clear(p.mg.GetAnnotations())
	clear(p.mg.GetFinalizers())
	p.mg.SetDeletionTimestamp(nil)
	if !b.restore(p.mg) {
		t.Error("nothing was put back")
	}
	if diff := cmp.Diff(want, p.mg); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	var same resource.Managed = read
	if b := passOf(same, &objectState{}).protectedMetadata(); b.name != "data" || b.uid != ownerUID ||
		b.deleted != nil {
		t.Errorf("belongings %+v", b)
	}
}
