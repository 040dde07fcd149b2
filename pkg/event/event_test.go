package event_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/moorage-dev/moorage/pkg/event"
)

// sent is a call of a client-go recorder, with the formatted message.
type sent struct {
	Type, Reason, Action, Message string
	// Related is the name of that object, "" if there is none.
	Related     string
	Annotations map[string]string
}

// oldAPI and newAPI record the calls of a recorder of that API.
type oldAPI struct {
	record.EventRecorder

	got []sent
}

func (r *oldAPI) AnnotatedEventf(_ runtime.Object, annotations map[string]string,
	eventtype, reason, messageFmt string, args ...any) {
	r.got = append(r.got, sent{
		Type: eventtype, Reason: reason, Message: fmt.Sprintf(messageFmt, args...),
		Annotations: annotations,
	})
}

type newAPI struct{ got []sent }

func (r *newAPI) Eventf(_, related runtime.Object, eventtype, reason, action, note string, args ...any) {
	r.got = append(r.got, sent{
		Type: eventtype, Reason: reason, Action: action, Message: fmt.Sprintf(note, args...),
		Related: nameOf(related),
	})
}

func nameOf(o runtime.Object) string {
	if o == nil {
		return ""
	}

	return o.(*corev1.Pod).Name // A nil pointer panics here, as it would in client-go.
}

type newAnnotatedAPI struct{ newAPI }

func (r *newAnnotatedAPI) AnnotatedEventf(_, related runtime.Object, annotations map[string]string,
	eventtype, reason, action, note string, args ...any) {
	r.got = append(r.got, sent{
		Type: eventtype, Reason: reason, Action: action, Message: fmt.Sprintf(note, args...),
		Related: nameOf(related), Annotations: annotations,
	})
}

var (
	_ events.EventRecorder   = &newAPI{}
	_ recorder.EventRecorder = &newAnnotatedAPI{}
)

// TestRecorders checks the calls of both APIs.
func TestRecorders(t *testing.T) {
	cases := map[string]struct {
		reason string
		record func(r event.Recorder)
		want   []sent
	}{
		"Normal": {
			reason: "A normal event is sent as it is.",
			record: func(r event.Recorder) { r.Event(&corev1.Pod{}, event.Normal("Attached", "in use")) },
			want:   []sent{{Type: "Normal", Reason: "Attached", Action: "Attached", Message: "in use"}},
		},
		"Warning": {
			reason: "The text of an error is the message, and its percent signs are no verbs.",
			record: func(r event.Recorder) {
				r.Event(&corev1.Pod{}, event.Warning("CannotAttach", errors.New("GET /a%20b: 100%")))
			},
			want: []sent{{Type: "Warning", Reason: "CannotAttach", Action: "CannotAttach", Message: "GET /a%20b: 100%"}},
		},
		"NilError": {
			reason: "A nil error means an empty message.",
			record: func(r event.Recorder) { r.Event(&corev1.Pod{}, event.Warning("CannotAttach", nil)) },
			want:   []sent{{Type: "Warning", Reason: "CannotAttach", Action: "CannotAttach"}},
		},
		"Action": {
			reason: "An action is sent where the API has one.",
			record: func(r event.Recorder) {
				r.Event(&corev1.Pod{}, event.Event{Type: event.TypeNormal, Reason: "Attached", Action: "Attach"})
			},
			want: []sent{{Type: "Normal", Reason: "Attached", Action: "Attach"}},
		},
		"Related": {
			reason: "A related object is sent where the API has one.",
			record: func(r event.Recorder) {
				data := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "data"}}
				r.Event(&corev1.Pod{}, event.Event{Type: event.TypeNormal, Reason: "Attached", Related: data})
				r.WithAnnotations("a", "1").Event(&corev1.Pod{},
					event.Event{Type: event.TypeNormal, Reason: "Attached", Related: data})
			},
			want: []sent{
				{Type: "Normal", Reason: "Attached", Action: "Attached", Related: "data"},
				{
					Type: "Normal", Reason: "Attached", Action: "Attached", Related: "data",
					Annotations: map[string]string{"a": "1"},
				},
			},
		},
		"RelatedToNobody": {
			reason: "A nil pointer counts as no related object.",
			record: func(r event.Recorder) {
				r.Event(&corev1.Pod{}, event.Event{
					Type: event.TypeNormal, Reason: "Attached", Related: (*corev1.Pod)(nil),
				})
			},
			want: []sent{{Type: "Normal", Reason: "Attached", Action: "Attached"}},
		},
		"Annotations": {
			reason: "Annotations of the event override those of the recorder. A key without a value is ignored.",
			record: func(r event.Recorder) {
				r.WithAnnotations("a", "1", "b", "2").Event(&corev1.Pod{}, event.Normal("Attached", "", "b", "3", "odd"))
			},
			want: []sent{{
				Type: "Normal", Reason: "Attached", Action: "Attached",
				Annotations: map[string]string{"a": "1", "b": "3"},
			}},
		},
		"WithAnnotationsTwice": {
			reason: "Annotations are merged, and the original recorders are not changed.",
			record: func(r event.Recorder) {
				one := r.WithAnnotations("a", "1")
				one.WithAnnotations("b", "2").Event(&corev1.Pod{}, event.Normal("Both", ""))
				one.Event(&corev1.Pod{}, event.Normal("One", ""))
				r.Event(&corev1.Pod{}, event.Normal("None", ""))
			},
			want: []sent{
				{Type: "Normal", Reason: "Both", Action: "Both", Annotations: map[string]string{"a": "1", "b": "2"}},
				{Type: "Normal", Reason: "One", Action: "One", Annotations: map[string]string{"a": "1"}},
				{Type: "Normal", Reason: "None", Action: "None"},
			},
		},
		"NoObject": {
			reason: "Without an object no event is sent.",
			record: func(r event.Recorder) {
				r.Event(nil, event.Normal("Attached", ""))
				r.Event((*corev1.Pod)(nil), event.Normal("Attached", ""))
			},
		},
	}

	empty := cmp.Transformer("NoAnnotations", func(s sent) sent {
		if len(s.Annotations) == 0 {
			s.Annotations = nil
		}

		return s
	})

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			older, newer, bare := &oldAPI{}, &newAnnotatedAPI{}, &newAPI{}
			tc.record(event.NewAPIRecorder(older))
			tc.record(event.NewRecorder(newer))
			tc.record(event.NewRecorder(bare))

			if diff := cmp.Diff(tc.want, newer.got, cmp.FilterValues(differ, empty)); diff != "" {
				t.Errorf("%s\nevents.k8s.io: -want, +got:\n%s", tc.reason, diff)
			}

			withoutAction, withoutAnnotations := []sent(nil), []sent(nil)
			for _, s := range tc.want {
				old, bare := s, s
				old.Action, old.Related = "", ""
				withoutAction = append(withoutAction, old)
				bare.Annotations = nil
				withoutAnnotations = append(withoutAnnotations, bare)
			}

			if diff := cmp.Diff(withoutAction, older.got, cmp.FilterValues(differ, empty)); diff != "" {
				t.Errorf("%s\nolder API: -want, +got:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(withoutAnnotations, bare.got); diff != "" {
				t.Errorf("%s\nrecorder without annotations: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// differ keeps the transformer from being applied to its own result.
func differ(a, b sent) bool { return (a.Annotations == nil) != (b.Annotations == nil) }

// TestAnnotations checks keys and values of annotations.
func TestAnnotations(t *testing.T) {
	cases := map[string]struct {
		reason        string
		keysAndValues []string
		want          map[string]string
	}{
		"None": {reason: "No annotations.", want: map[string]string{}},
		"OnePair": {
			reason: "A key and its value.", keysAndValues: []string{"key", "val"},
			want: map[string]string{"key": "val"},
		},
		"TwoPairs": {
			reason:        "Two keys and their values.",
			keysAndValues: []string{"key", "val", "another", "value"},
			want:          map[string]string{"key": "val", "another": "value"},
		},
		"NoValue": {
			reason: "A key without a value is ignored.", keysAndValues: []string{"key"},
			want: map[string]string{},
		},
		"ExtraneousKey": {
			reason: "Also at the end.", keysAndValues: []string{"key", "val", "extraneous"},
			want: map[string]string{"key": "val"},
		},
		"Twice": {
			reason:        "The last value of a key is used.",
			keysAndValues: []string{"key", "val", "key", "value"},
			want:          map[string]string{"key": "value"},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, event.Normal("Attached", "", tc.keysAndValues...).Annotations); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}

			r := &newAnnotatedAPI{}
			event.NewRecorder(r).WithAnnotations(tc.keysAndValues...).Event(&corev1.Pod{}, event.Warning("Failed", nil))

			if diff := cmp.Diff(tc.want, r.got[0].Annotations, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\nrecorder: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestMessageIsTruncated: a message is valid UTF-8 of at most 1024 bytes.
func TestMessageIsTruncated(t *testing.T) {
	cases := map[string]struct {
		reason  string
		message string
		want    string
	}{
		"Fits": {
			reason: "1024 bytes are accepted.", message: strings.Repeat("x", 1024),
			want: strings.Repeat("x", 1024),
		},
		"TooLong": {
			reason: "A longer text is truncated, including the mark.", message: strings.Repeat("x", 1025),
			want: strings.Repeat("x", 1021) + "...",
		},
		"Huge": {
			reason: "Of any length.", message: strings.Repeat("x", 1<<20),
			want: strings.Repeat("x", 1021) + "...",
		},
		"Wide": {
			reason: "No character is cut in two.", message: strings.Repeat("ä", 600),
			want: strings.Repeat("ä", 510) + "...",
		},
		"Broken":    {reason: "Invalid bytes are replaced.", message: "a\xff\xfeb", want: "a?b"},
		"AllBroken": {reason: "Also many of them.", message: strings.Repeat("\xff", 2000), want: "?..."},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := &newAPI{}
			event.NewRecorder(r).Event(&corev1.Pod{}, event.Normal("Attached", tc.message))

			if diff := cmp.Diff(tc.want, r.got[0].Message); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}

			if got := r.got[0].Message; len(got) > 1024 || !utf8.ValidString(got) {
				t.Errorf("%s\n%d bytes, valid %t", tc.reason, len(got), utf8.ValidString(got))
			}
		})
	}
}

func TestNopRecorder(t *testing.T) {
	var r event.Recorder = event.NewNopRecorder()

	r.WithAnnotations("a", "1").Event(&corev1.Pod{}, event.Normal("Attached", ""))
	r.Event(nil, event.Event{})
}
