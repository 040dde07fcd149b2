package meta

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestMaps(t *testing.T) {
	cases := map[string]struct {
		reason string
		stored map[string]string
		change func(o metav1.Object)
		want   map[string]string
	}{
		"AddToNone": {
			reason: "An object without any gets them.",
			change: func(o metav1.Object) { AddAnnotations(o, map[string]string{"a": "1"}) },
			want:   map[string]string{"a": "1"},
		},
		"AddAndReplace": {
			reason: "Others stay, those of the same key are replaced.",
			stored: map[string]string{"a": "1", "b": "2"},
			change: func(o metav1.Object) { AddAnnotations(o, map[string]string{"b": "3", "c": "4"}) },
			want:   map[string]string{"a": "1", "b": "3", "c": "4"},
		},
		"AddNil": {
			reason: "Nothing to add leaves nothing.",
			change: func(o metav1.Object) { AddAnnotations(o, nil) },
		},
		"Remove": {
			reason: "Those named go, the others stay.",
			stored: map[string]string{"a": "1", "b": "2"},
			change: func(o metav1.Object) { RemoveAnnotations(o, "a", "x") },
			want:   map[string]string{"b": "2"},
		},
		"RemoveFromNone": {
			reason: "There is nothing to remove.",
			change: func(o metav1.Object) { RemoveAnnotations(o, "a") },
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := &metav1.ObjectMeta{Annotations: tc.stored}
			tc.change(o)

			if diff := cmp.Diff(tc.want, o.Annotations); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestLabels(t *testing.T) {
	o := &metav1.ObjectMeta{}
	AddLabels(o, map[string]string{"a": "1", "b": "2"})
	AddLabels(o, map[string]string{"b": "3"})
	RemoveLabels(o, "a")

	if diff := cmp.Diff(map[string]string{"b": "3"}, o.Labels); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestNothingIsShared(t *testing.T) {
	mine := map[string]string{"a": "1"}
	o := &metav1.ObjectMeta{}

	AddAnnotations(o, mine)
	AddLabels(o, mine)

	shared := o.DeepCopy()
	cached := *shared // As a cache returns it: same maps, same slices.
	cached.Finalizers = append(make([]string, 0, 4), "x", "y")
	shared.Finalizers = cached.Finalizers

	AddAnnotations(&cached, map[string]string{"b": "2"})
	RemoveAnnotations(&cached, "a")
	AddLabels(&cached, map[string]string{"b": "2"})
	RemoveLabels(&cached, "a")
	AddFinalizer(&cached, "z")
	RemoveFinalizer(&cached, "x")

	o.Annotations["mine"], o.Labels["mine"] = "no", "no"

	if diff := cmp.Diff(map[string]string{"a": "1"}, mine); diff != "" {
		t.Errorf("The caller's map changed: -want, +got:\n%s", diff)
	}

	want := &metav1.ObjectMeta{
		Annotations: map[string]string{"a": "1"},
		Labels:      map[string]string{"a": "1"},
		Finalizers:  []string{"x", "y"},
	}
	if diff := cmp.Diff(want, shared); diff != "" {
		t.Errorf("The shared object changed: -want, +got:\n%s", diff)
	}

	if got := shared.Finalizers[:3][2]; got != "" {
		t.Errorf("The spare room of the shared slice holds %q, want nothing", got)
	}
}

func TestFinalizers(t *testing.T) {
	cases := map[string]struct {
		reason string
		stored []string
		change func(o metav1.Object)
		want   []string
	}{
		"Add": {
			reason: "It goes to the end.", stored: []string{"a"},
			change: func(o metav1.Object) { AddFinalizer(o, "b") }, want: []string{"a", "b"},
		},
		"AddAgain": {
			reason: "It is there already.", stored: []string{"a"},
			change: func(o metav1.Object) { AddFinalizer(o, "a") }, want: []string{"a"},
		},
		"Remove": {
			reason: "The order of the others stays.", stored: []string{"a", "b", "c"},
			change: func(o metav1.Object) { RemoveFinalizer(o, "b") }, want: []string{"a", "c"},
		},
		"RemoveTwice": {
			reason: "All of them go, wherever they are.", stored: []string{"b", "a", "b", "b"},
			change: func(o metav1.Object) { RemoveFinalizer(o, "b") }, want: []string{"a"},
		},
		"RemoveUnknown": {
			reason: "There is nothing to remove.", stored: []string{"a"},
			change: func(o metav1.Object) { RemoveFinalizer(o, "b") }, want: []string{"a"},
		},
		"RemoveFromEmpty": {
			reason: "There is nothing to remove.",
			change: func(o metav1.Object) { RemoveFinalizer(o, "b") },
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := &metav1.ObjectMeta{Finalizers: tc.stored}
			tc.change(o)

			if diff := cmp.Diff(tc.want, o.Finalizers); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestFinalizerExists(t *testing.T) {
	for name, tc := range map[string]struct {
		stored []string
		want   bool
	}{
		"NoExistingFinalizers":   {},
		"FinalizerExists":        {stored: []string{"b", "a"}, want: true},
		"AnotherFinalizerExists": {stored: []string{"b", "aa"}},
		"FinalizerExistsTwice":   {stored: []string{"a", "a"}, want: true},
		"FinalizerOfOtherCase":   {stored: []string{"A"}},
	} {
		if got := FinalizerExists(&metav1.ObjectMeta{Finalizers: tc.stored}, "a"); got != tc.want {
			t.Errorf("%s: FinalizerExists(...) = %t, want %t", name, got, tc.want)
		}
	}
}

// TestNilMapsAreNotTakenOver adds to objects that have no map yet: the object must not
// use the map of the caller, or two objects would share it.
func TestNilMapsAreNotTakenOver(t *testing.T) {
	given := map[string]string{"a": "1"}
	one, two := &metav1.ObjectMeta{}, &metav1.ObjectMeta{}

	for _, o := range []*metav1.ObjectMeta{one, two} {
		AddAnnotations(o, given)
		AddLabels(o, given)
	}
	one.Annotations["b"], one.Labels["b"], given["c"] = "2", "2", "3"

	want := &metav1.ObjectMeta{Annotations: map[string]string{"a": "1"}, Labels: map[string]string{"a": "1"}}
	if diff := cmp.Diff(want, two); diff != "" {
		t.Errorf("the other object: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"a": "1", "b": "2"}, one.Annotations); diff != "" {
		t.Errorf("the object itself: -want, +got:\n%s", diff)
	}
}

// TestNothingIsKnownOfNothing reads an object without annotations.
func TestNothingIsKnownOfNothing(t *testing.T) {
	o := &metav1.ObjectMeta{}

	for name, got := range map[string]time.Time{
		"pending": GetExternalCreatePending(o), "succeeded": GetExternalCreateSucceeded(o),
		"failed": GetExternalCreateFailed(o),
	} {
		if !got.IsZero() {
			t.Errorf("%s at %s, want never", name, got)
		}
	}
	if got := GetExternalName(o); got != "" {
		t.Errorf("GetExternalName(...) = %q, want none", got)
	}
	if IsPaused(o) || IsVerbose(o) {
		t.Error("Nobody asked for a pause or for verbosity")
	}
}

func TestWasCreatedAndDeleted(t *testing.T) {
	now := metav1.Now()

	cases := map[string]struct {
		o                *metav1.ObjectMeta
		created, deleted bool
	}{
		"New":     {o: &metav1.ObjectMeta{}},
		"Created": {o: &metav1.ObjectMeta{CreationTimestamp: now}, created: true},
		"Deleted": {
			o: &metav1.ObjectMeta{CreationTimestamp: now, DeletionTimestamp: &now}, created: true,
			deleted: true,
		},
		"Zero": {o: &metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{}}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := WasCreated(tc.o); got != tc.created {
				t.Errorf("WasCreated(...) = %t, want %t", got, tc.created)
			}

			if got := WasDeleted(tc.o); got != tc.deleted {
				t.Errorf("WasDeleted(...) = %t, want %t", got, tc.deleted)
			}
		})
	}
}

func annotated(kv ...string) *metav1.ObjectMeta {
	o := &metav1.ObjectMeta{Annotations: map[string]string{}}
	for i := 0; i+1 < len(kv); i += 2 {
		o.Annotations[kv[i]] = kv[i+1]
	}

	return o
}

func TestCreationMarks(t *testing.T) {
	when := time.Date(2031, 3, 4, 5, 6, 7, 890, time.FixedZone("", 2*60*60))
	o := &metav1.ObjectMeta{}

	SetExternalCreatePending(o, when)
	SetExternalCreateSucceeded(o, when.Add(time.Second))
	SetExternalCreateFailed(o, when.Add(2*time.Second))
	SetExternalName(o, "existing-bucket")

	want := map[string]string{
		"krateo.io/external-create-pending":   "2031-03-04T03:06:07Z",
		"krateo.io/external-create-succeeded": "2031-03-04T03:06:08Z",
		"krateo.io/external-create-failed":    "2031-03-04T03:06:09Z",
		"krateo.io/external-name":             "existing-bucket",
	}
	if diff := cmp.Diff(want, o.Annotations); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}

	for key, got := range map[string]time.Time{
		"pending":   GetExternalCreatePending(o),
		"succeeded": GetExternalCreateSucceeded(o).Add(-time.Second),
		"failed":    GetExternalCreateFailed(o).Add(-2 * time.Second),
	} {
		if !got.Equal(when.Truncate(time.Second)) {
			t.Errorf("The %s mark reads %s, want %s", key, got, when)
		}
	}

	if got := GetExternalName(o); got != "existing-bucket" {
		t.Errorf("GetExternalName(...) = %q", got)
	}
}

func TestMarksOfOthersAreRead(t *testing.T) {
	cases := map[string]struct {
		reason string
		value  string
		want   time.Time
	}{
		"Zone": {
			reason: "The predecessor wrote local time.", value: "2031-03-04T05:06:07+02:00",
			want: time.Date(2031, 3, 4, 3, 6, 7, 0, time.UTC),
		},
		"Fraction": {
			reason: "Fractions are RFC 3339 too.", value: "2031-03-04T03:06:07.5Z",
			want: time.Date(2031, 3, 4, 3, 6, 7, 5e8, time.UTC),
		},
		"Garbage": {reason: "What cannot be read is no mark.", value: "yesterday"},
		"Empty":   {reason: "Nothing is no mark."},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := GetExternalCreatePending(annotated(AnnotationKeyExternalCreatePending,
				tc.value)); !got.Equal(tc.want) {
				t.Errorf("%s\ngot %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

func TestExternalCreateIncomplete(t *testing.T) {
	const early, late, garbage = "2031-03-04T05:06:07Z", "2031-03-04T05:06:08Z", "soon"

	cases := map[string]struct {
		reason                     string
		pending, succeeded, failed string
		want                       bool
	}{
		"Never":          {reason: "Nothing ever began."},
		"Began":          {reason: "It began and no end is known.", pending: early, want: true},
		"Succeeded":      {reason: "It ended well.", pending: early, succeeded: late},
		"Failed":         {reason: "It ended badly.", pending: early, failed: late},
		"SameSecond":     {reason: "Beginning and end are one second: it ended.", pending: early, succeeded: early},
		"AgainAfterFail": {reason: "A later attempt began.", pending: late, failed: early, want: true},
		"AgainAfterBoth": {reason: "The later of both ends counts.", pending: early, succeeded: early, failed: late},
		"AgainAfterOther": {
			reason: "The later of both ends counts, whichever it is.", pending: late,
			succeeded: early, failed: late,
		},
		"Unreadable": {reason: "A beginning that cannot be read never was.", pending: garbage},
		"UnreadableEnd": {
			reason: "An end that cannot be read is not known.", pending: early, succeeded: garbage,
			want: true,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := annotated(AnnotationKeyExternalCreatePending, tc.pending, AnnotationKeyExternalCreateSucceeded,
				tc.succeeded, AnnotationKeyExternalCreateFailed, tc.failed)
			if got := ExternalCreateIncomplete(o); got != tc.want {
				t.Errorf("%s\nExternalCreateIncomplete(...) = %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}

func TestExternalCreateSucceededDuring(t *testing.T) {
	cases := map[string]struct {
		reason string
		ago    time.Duration
		want   bool
	}{
		"Recent": {reason: "It is within the time.", ago: 10 * time.Second, want: true},
		"Old":    {reason: "It is longer ago.", ago: 2 * time.Hour},
		"Future": {reason: "A clock that is ahead counts as recent.", ago: -time.Hour, want: true},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := &metav1.ObjectMeta{}
			SetExternalCreateSucceeded(o, time.Now().Add(-tc.ago))

			if got := ExternalCreateSucceededDuring(o, time.Hour); got != tc.want {
				t.Errorf("%s\nExternalCreateSucceededDuring(...) = %t, want %t", tc.reason, got, tc.want)
			}
		})
	}

	if ExternalCreateSucceededDuring(&metav1.ObjectMeta{}, time.Hour) {
		t.Error("Without a mark nothing succeeded")
	}
}
