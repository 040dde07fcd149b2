package ready

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// enough is how often an object has to fail with the same error in a row until Wait gives up.
const enough = 5

// Wait waits until the condition Ready of obj is True. It reads obj from kube repeatedly, and obj has the last state at
// the end. It fails the test when the budget of the test is over, see package wait. It fails the test earlier in two
// cases:
//
//   - The condition Stalled of obj is True for the current generation.
//   - During the call, the reconciler of obj returns the same error five times in a row, and Synced is False. The Log
//     counts these errors.
//
// After the test has corrected the cause of a stalled object, first wait with wait.Until until Stalled is no longer
// True.
//
// The failure message has the conditions of obj, the last Warning events about obj, and the last lines of log. Wait
// prints neither the spec nor a Secret. If log is nil, there are no lines, and errors are not counted. Call Wait from
// the goroutine of the test, as t.Fatalf requires. The scheme of kube has the kind of obj and corev1.Event.
func Wait(t wait.TB, kube client.Client, obj client.Object, log *Log) {
	t.Helper()
	if log == nil {
		log = &Log{}
	}
	w := &waiter{TB: t, kube: kube, obj: obj, log: log, of: objectOf(kube, obj)}
	log.forget(w.of)
	wait.Budget(t) // starts the budget with the deadline of t, which w does not have
	wait.Until(w, fmt.Sprintf("%s is Ready", w.of), w.done)
}

// objectOf returns the object in the lines of the log that are about obj.
func objectOf(kube client.Client, obj client.Object) object {
	gvk, err := kube.GroupVersionKindFor(obj)
	if err != nil { // Get returns the same error
		gvk = obj.GetObjectKind().GroupVersionKind()
	}

	return object{kind: gvk.Kind, namespace: obj.GetNamespace(), name: obj.GetName()}
}

// String returns the kind and the name for messages.
func (o object) String() string {
	if o.namespace == "" {
		return fmt.Sprintf("%s %q", o.kind, o.name)
	}

	return fmt.Sprintf("%s %q", o.kind, o.namespace+"/"+o.name)
}

// A waiter waits for one object. As the TB of package wait it adds the diagnosis to the failure message.
type waiter struct {
	wait.TB

	kube client.Client
	obj  client.Object
	log  *Log
	of   object
	read error // of the last read
}

// Fatalf fails the test with the message and the diagnosis.
func (w *waiter) Fatalf(format string, args ...any) {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.Context()), diagnosisTimeout)
	defer cancel()
	w.TB.Fatalf("%s\n%s", fmt.Sprintf(format, args...), w.diagnosis(ctx))
}

// done reads the object and reports whether the wait is over. It fails the test if there is no hope.
func (w *waiter) done() bool {
	w.Helper()
	w.read = w.kube.Get(wait.Context(w.TB), client.ObjectKeyFromObject(w.obj), w.obj)
	if w.read != nil {
		return false
	}
	all, err := conditionsOf(w.obj)
	if err != nil {
		w.Fatalf("%v", err)

		return true
	}
	if find(all, commonv1.TypeReady).Status == metav1.ConditionTrue {
		return true
	}
	if why := hopeless(w.obj.GetGeneration(), all, w.log.failure(w.of)); why != "" {
		w.Fatalf("%s will not be Ready: %s", w.of, why)

		return true
	}

	return false
}

// hopeless returns why an object that is not Ready will not be Ready soon, or "".
func hopeless(generation int64, all []metav1.Condition, last failure) string {
	stalled, synced := find(all, commonv1.TypeStalled), find(all, commonv1.TypeSynced)
	current := stalled.ObservedGeneration == 0 || stalled.ObservedGeneration == generation
	switch {
	case stalled.Status == metav1.ConditionTrue && current:
		return "its condition Stalled is True: nothing changes until the cause is corrected"
	case last.times >= enough && synced.Status == metav1.ConditionFalse:
		return fmt.Sprintf("its reconciler has returned the same error %d times in a row", last.times)
	default:
		return ""
	}
}

// conditionsOf returns the conditions of any object that has them in its status, as JSON shows them.
func conditionsOf(obj client.Object) ([]metav1.Condition, error) {
	text, err := json.Marshal(obj)
	if err != nil {
		return nil, errors.Wrap(err, "cannot read the conditions")
	}
	var has struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	if err := json.Unmarshal(text, &has); err != nil {
		return nil, errors.Wrap(err, "cannot read the conditions")
	}

	return has.Status.Conditions, nil
}

// find returns the condition of a type, or a zero value.
func find(all []metav1.Condition, t commonv1.ConditionType) metav1.Condition {
	for _, c := range all {
		if c.Type == string(t) {
			return c
		}
	}

	return metav1.Condition{}
}
