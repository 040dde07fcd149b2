package ready

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// diagnosisTimeout bounds the reads for a diagnosis, which are made after the budget of the test.
const diagnosisTimeout = 10 * time.Second

// maxEvents is the number of events in a diagnosis.
const maxEvents = 10

// diagnosis returns the conditions of the object, its Warning events, and the last lines of the log.
func (w *waiter) diagnosis(ctx context.Context) string {
	var b strings.Builder
	if w.read != nil {
		section(&b, "The last read failed:", w.read.Error())
	}
	section(&b, "Conditions:", w.conditions()...)
	section(&b, "Warning events:", w.warnings(ctx)...)
	section(&b, "Last lines of the provider's log:", w.log.Lines()...)

	return b.String()
}

// section writes a heading and its lines.
func section(b *strings.Builder, heading string, lines ...string) {
	if len(lines) == 0 {
		lines = []string{"none"}
	}
	fmt.Fprintln(b, heading)
	for _, line := range lines {
		fmt.Fprintln(b, "  "+line)
	}
}

// conditions returns one line for each condition.
func (w *waiter) conditions() []string {
	all, err := conditionsOf(w.obj)
	if err != nil {
		return []string{err.Error()}
	}
	out := make([]string, len(all))
	for i, c := range all {
		out[i] = strings.TrimSuffix(fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message), ": ")
	}

	return out
}

// warnings returns one line for each of the last Warning events about the object, the oldest first.
func (w *waiter) warnings(ctx context.Context) []string {
	namespace := cmp.Or(w.of.namespace, metav1.NamespaceDefault)
	var all corev1.EventList
	if err := w.kube.List(ctx, &all, client.InNamespace(namespace)); err != nil {
		return []string{"cannot list events: " + err.Error()}
	}
	about := slices.DeleteFunc(all.Items, func(e corev1.Event) bool {
		return e.Type != corev1.EventTypeWarning || !w.isAbout(e.InvolvedObject)
	})
	slices.SortStableFunc(about, func(a, b corev1.Event) int { return timeOf(a).Compare(timeOf(b)) })
	about = about[max(0, len(about)-maxEvents):]
	out := make([]string, len(about))
	for i, e := range about {
		out[i] = fmt.Sprintf("%s %s: %s", timeOf(e).Format(time.TimeOnly), e.Reason, e.Message)
	}

	return out
}

// isAbout reports whether an event is about the object. An object of the same name that is gone is another one.
func (w *waiter) isAbout(ref corev1.ObjectReference) bool {
	return ref.Kind == w.of.kind && ref.Name == w.of.name && (w.obj.GetUID() == "" || ref.UID == w.obj.GetUID())
}

// timeOf returns when an event was last seen. The two event APIs fill different fields.
func timeOf(e corev1.Event) time.Time {
	switch {
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	default:
		return e.EventTime.Time
	}
}
