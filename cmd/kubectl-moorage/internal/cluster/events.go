package cluster

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/object"
	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/text"
)

// An Event is an event about an object.
type Event struct {
	Time        time.Time // of its last occurrence
	Type        string
	Reason      string
	Message     string
	Count       int32
	Source      string
	Annotations map[string]string
}

// Events selects the events about an object. Those of cluster-scoped objects are in the namespace default.
func Events(kind Kind, namespace, name, uid string) Selection {
	if namespace == "" {
		namespace = corev1.NamespaceDefault
	}

	fields := "involvedObject.name=" + name + ",involvedObject.kind=" + kind.Name
	if uid != "" {
		fields += ",involvedObject.uid=" + uid
	}

	return Selection{
		Kind: Kind{
			Resource: schema.GroupVersionResource{Version: "v1", Resource: "events"}, Name: "Event", Namespaced: true,
		},
		Namespace: namespace, Fields: fields,
	}
}

// EventOf reads an event. It returns false if the object is none.
func EventOf(o object.Object) (Event, bool) {
	var e corev1.Event
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &e); err != nil {
		return Event{}, false
	}

	out := Event{
		Type: text.Line(e.Type), Reason: text.Line(e.Reason), Message: text.Line(e.Message),
		Count: max(1, e.Count), Source: text.Line(cmp.Or(e.Source.Component, e.ReportingController)),
		Annotations: e.Annotations,
	}

	times := []time.Time{e.LastTimestamp.Time, e.EventTime.Time, e.FirstTimestamp.Time, e.CreationTimestamp.Time}
	if e.Series != nil {
		out.Count, times = max(out.Count, e.Series.Count), append([]time.Time{e.Series.LastObservedTime.Time}, times...)
	}

	for _, t := range times {
		if !t.IsZero() {
			out.Time = t

			break
		}
	}

	return out, true
}
