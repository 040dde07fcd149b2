package managed

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/mergepatch"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// TestCheckRoom verifies that annotations without room for the result of a creation are reported before it.
func TestCheckRoom(t *testing.T) {
	room := annotationsLimit - resultRoom - len("ab")
	for size, want := range map[int]bool{0: true, room: true, room + 1: false} {
		annotations := map[string]string{"a": strings.Repeat("x", size), "b": ""}
		if err := checkRoom(annotations); (err == nil) != want {
			t.Errorf("%d bytes beside the keys: got %v", size, err)
		}
	}
}

// TestCheckStored verifies that the missing parts of an answer that matter are named.
func TestCheckStored(t *testing.T) {
	const name, attempt = meta.AnnotationKeyExternalName, meta.AnnotationKeyCreateAttempt
	ours := map[string]any{name: "vol-1", attempt: ownID}
	held := []string{"example.org/other", FinalizerName}
	whole := &fake.Managed{ObjectMeta: metav1.ObjectMeta{
		Annotations: map[string]string{name: "vol-1", attempt: ownID}, Labels: map[string]string{"fleet": ""},
		Finalizers: held,
	}}
	cases := map[string]struct {
		reason       string
		sent, labels map[string]any
		desired      []string
		answer       *fake.Managed
		want         []string
	}{
		"Whole":   {"all is stored", ours, map[string]any{"fleet": "x"}, held, whole, nil},
		"Nothing": {"nothing was sent", nil, nil, nil, &fake.Managed{}, nil},
		"Dropped": {"nothing is stored", ours, map[string]any{"fleet": "x"}, held, &fake.Managed{},
			[]string{"annotation " + name, "annotation " + attempt, "finalizer " + FinalizerName, "label fleet"}},
		"Another": {"something else is stored", map[string]any{name: "vol-2"}, nil, nil, whole,
			[]string{"annotation " + name + ` ("vol-1" is stored instead of "vol-2")`}},
		"Removed": {"what was removed need not be there", map[string]any{name: nil},
			map[string]any{"fleet": nil}, nil, &fake.Managed{}, nil},
		"Theirs": {"annotations of clients are theirs", map[string]any{"example.org/a": "b"}, nil, nil,
			&fake.Managed{}, nil},
		"OthersAlone": {"finalizers of others are theirs", nil, nil, held[:1], &fake.Managed{}, nil},
	}
	for id, tc := range cases {
		var got []string
		err := checkStored(tc.sent, tc.labels, tc.desired, tc.answer)
		var lacking *notStoredError
		if errors.As(err, &lacking) {
			got = lacking.fields
		}
		if diff := cmp.Diff(tc.want, got); diff != "" || isNotStored(err) != (tc.want != nil) {
			t.Errorf("%s: %s: %v, -want +got:\n%s", id, tc.reason, err, diff)
		}
	}
}

// An incrementingClient stores everything but, if so configured, annotations, and counts the generation.
type incrementingClient struct {
	client.Client

	drops bool
}

func (c incrementingClient) Patch(_ context.Context, o client.Object, _ client.Patch, _ ...client.PatchOption) error {
	if o.SetGeneration(o.GetGeneration() + 1); c.drops {
		o.SetAnnotations(nil)
	}

	return nil
}

// TestAGenerationThatWasFilledInIsLookedAt verifies that a generation that the pass itself has made counts as
// observed if the write was stored completely and the pass has observed.
func TestAGenerationThatWasFilledInIsLookedAt(t *testing.T) {
	for drops, want := range map[bool]int64{false: 4, true: 3} {
		mg := bearing(nil)
		mg.SetGeneration(3)
		w := newStored(mg, &objectState{})
		w.generation, w.initPatch = 3, map[string]any{"spec": map[string]any{"tier": "gold"}}
		w.r.client = incrementingClient{drops: drops}
		meta.AddAnnotations(w.mg, map[string]string{meta.AnnotationKeyCreateAttempt: ownID})
		if err := w.store(t.Context(), telemetry.Intent); (err != nil) != drops || w.generation != want {
			t.Errorf("annotations are dropped, %t: %v, and the generation is %d, want %d", drops, err, w.generation,
				want)
		}
	}
}

func TestDifference(t *testing.T) {
	before := map[string]string{"same": "a", "changed": "a", "emptied": "a", "removed": "a"}
	after := map[string]string{"same": "a", "changed": "b", "emptied": "", "added": "a", "empty": ""}
	want := map[string]any{"changed": "b", "emptied": "", "removed": nil, "added": "a", "empty": ""}
	if diff := cmp.Diff(want, difference(before, after)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestPrecondition verifies that a write fails on another object of the name, and on another version.
func TestPrecondition(t *testing.T) {
	mg := bearing(nil)
	mg.SetResourceVersion("7")
	got := passOf(mg, &objectState{}).precondition(map[string]any{"finalizers": []string{"a"}})
	if diff := cmp.Diff(map[string]any{
		"finalizers": []string{"a"}, "uid": ownerUID, "resourceVersion": "7",
	}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := passOf(&fake.Managed{}, &objectState{}).precondition(map[string]any{}); len(got) > 0 {
		t.Errorf("of an object that was never stored: %v", got)
	}
}

// TestStampOthers verifies that an author's conditions of this pass get its generation.
func TestStampOthers(t *testing.T) {
	kept, stamped := commonv1.Condition{Type: "Kept"}, commonv1.Condition{Type: "Stamped", ObservedGeneration: 2}
	mine := []commonv1.Condition{kept, {Type: "Set"}, stamped}
	stampOthers([]commonv1.Condition{kept}, mine, 7)
	want := []commonv1.Condition{kept, {Type: "Set", ObservedGeneration: 7}, stamped}
	if diff := cmp.Diff(want, mine); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestDigest verifies that different details, or destinations, have different digests.
func TestDigest(t *testing.T) {
	seen := map[[32]byte]string{}
	for what, sum := range map[string][32]byte{
		"a":         digest("s", ConnectionDetails{"user": []byte("a")}),
		"b":         digest("s", ConnectionDetails{"user": []byte("b")}),
		"elsewhere": digest("t", ConnectionDetails{"user": []byte("a")}),
		"key":       digest("s", ConnectionDetails{"name": []byte("a")}),
		"both":      digest("s", ConnectionDetails{"user": []byte("a"), "name": []byte("b")}),
		"swapped":   digest("s", ConnectionDetails{"user": []byte("b"), "name": []byte("a")}),
		"moved":     digest("s", ConnectionDetails{"use": []byte("ra")}),
		"split":     digest("su", ConnectionDetails{"ser": []byte("a")}),
		"nothing":   digest("", nil),
	} {
		if other, is := seen[sum]; is {
			t.Errorf("%s and %s look the same", what, other)
		}
		seen[sum] = what
	}
	if digest("s", ConnectionDetails{"user": []byte("a"), "name": []byte("b")}) != digest("s",
		ConnectionDetails{"name": []byte("b"), "user": []byte("a")}) {
		t.Error("the same details look different")
	}
}

// TestDigestStays verifies that the digest is stable between releases; otherwise all details would be published
// again.
func TestDigestStays(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 0x01020304)
	var parts []byte
	for _, part := range [][]byte{[]byte("s"), []byte("name"), []byte("a"), []byte("user"), long} {
		parts = append(binary.BigEndian.AppendUint32(parts, uint32(len(part))), part...)
	}
	if digest("s", ConnectionDetails{"user": long, "name": []byte("a")}) != sha256.Sum256(parts) {
		t.Error("the digest is another than that of lengths and parts, the keys in order")
	}
}

// TestLateKey verifies that different paths have different keys.
func TestLateKey(t *testing.T) {
	for want, path := range map[string]mergepatch.Path{
		"spec/size": {"spec", "size"}, "spec%2Fsize": {"spec/size"}, "spec/a%20b": {"spec", "a b"},
		"a%25/b": {"a%", "b"},
	} {
		if got := lateKey(path); got != want {
			t.Errorf("%v is %q, want %q", path, got, want)
		}
	}
}

// TestEnsureFinalizer verifies that our finalizer replaces UnclaimedFinalizer.
func TestEnsureFinalizer(t *testing.T) {
	gone := metav1.Now()
	cases := map[string]struct {
		reason    string
		before    []string
		deleted   *metav1.Time
		finalizer bool // of the author's
		finalized bool
		after     []string
		want      bool
	}{
		"None": {"it is added", nil, nil, false, false, []string{FinalizerName}, true},
		"Others": {"beside those of others", []string{"a"}, nil, false, false, []string{"a", FinalizerName},
			true},
		"Unclaimed": {"in the place of the other", []string{UnclaimedFinalizer, "a"}, nil, false, false,
			[]string{"a", FinalizerName}, true},
		"Ours": {"it is there", []string{FinalizerName}, nil, false, false, []string{FinalizerName}, false},
		"Both": {"the other goes all the same", []string{FinalizerName, UnclaimedFinalizer}, nil, false,
			false, []string{FinalizerName}, true},
		"Deleted": {"what is deleted can get none", []string{"a"}, &gone, false, false, []string{"a"}, false},
		"Author": {"the author's is there already", []string{"a", UnclaimedFinalizer}, nil, true, true,
			[]string{"a"}, true},
		"AuthorNothing": {"and that is all", []string{"a"}, nil, true, true, []string{"a"}, false},
		"AuthorNotAdded": {"or will be", []string{UnclaimedFinalizer}, nil, true, false,
			[]string{UnclaimedFinalizer}, false},
	}
	for id, tc := range cases {
		mg := &fake.Managed{ObjectMeta: metav1.ObjectMeta{Finalizers: tc.before, DeletionTimestamp: tc.deleted}}
		p := passOf(mg, &objectState{})
		if p.finalizerAdded = tc.finalized; tc.finalizer {
			p.r.finalizer = resource.NewNopFinalizer()
		}
		if got := p.ensureFinalizer(mg); got != tc.want {
			t.Errorf("%s: %s: changed is %t", id, tc.reason, got)
		}
		if diff := cmp.Diff(tc.after, mg.GetFinalizers()); diff != "" {
			t.Errorf("%s: %s: -want +got:\n%s", id, tc.reason, diff)
		}
	}
}
