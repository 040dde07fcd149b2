package kube

import (
	"context"
	"fmt"
	"sync"

	"github.com/go-logr/logr"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/tools/reference"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// recorders create event recorders. client-go's broadcaster writes the events to the store of events. Without such a
// store the events are logged.
type recorders struct {
	scheme *runtime.Scheme
	log    logr.Logger
	sink   events.EventSink // nil if there is no store

	mu          sync.Mutex
	broadcaster events.EventBroadcaster // nil until it is needed: it has a goroutine
	stopped     bool
}

func newRecorders(c client.Client, stores *Client, log logr.Logger) *recorders {
	r := &recorders{scheme: stores.scheme, log: log}
	if stores.kinds[eventsv1.SchemeGroupVersion.WithKind("Event")] != nil {
		r.sink = &sink{c}
	}

	return r
}

// running returns the broadcaster, or nil if there is nothing to record with.
func (r *recorders) running() events.EventBroadcaster {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sink == nil || r.stopped {
		return nil
	}
	if r.broadcaster == nil {
		r.broadcaster = events.NewBroadcaster(r.sink)
	}

	return r.broadcaster
}

// start starts recording, and returns a function that stops it for good.
func (r *recorders) start(ctx context.Context) (func(), error) {
	b := r.running()
	if b == nil {
		return func() {}, nil
	}
	if err := b.StartRecordingToSinkWithContext(ctx); err != nil {
		return nil, errors.Wrap(err, "cannot record events")
	}

	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !r.stopped {
			b.Shutdown()
		}
		r.stopped = true
	}, nil
}

// A named is the recorder of one controller.
type named struct {
	*recorders

	name string
}

// Eventf records an event.
func (n *named) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	n.AnnotatedEventf(regarding, related, nil, kind, reason, action, note, args...)
}

// AnnotatedEventf records an event. The log has no annotations.
func (n *named) AnnotatedEventf(regarding, related runtime.Object, annotations map[string]string,
	kind, reason, action, note string, args ...any) {
	if b := n.running(); b != nil {
		if r, ok := b.NewRecorder(n.scheme, n.name).(recorder.EventRecorder); ok {
			r.AnnotatedEventf(regarding, related, annotations, kind, reason, action, note, args...)

			return
		}
	}
	ref, err := reference.GetReference(n.scheme, regarding)
	if err != nil {
		n.log.Error(err, "cannot get the reference of the object of an event", "reason", reason)

		return
	}
	n.log.Info("event", "controller", n.name, "type", kind, "reason", reason, "note", fmt.Sprintf(note, args...),
		"kind", ref.Kind, "namespace", ref.Namespace, "name", ref.Name)
}

// GetEventRecorder returns a recorder of the events API.
func (c *Cluster) GetEventRecorder(name string) recorder.EventRecorder {
	return &named{c.recorder, name}
}

// GetEventRecorderFor returns a recorder of the core/v1 events API. Its events are stored as events.k8s.io/v1 Events.
func (c *Cluster) GetEventRecorderFor(name string) record.EventRecorder {
	return legacyRecorder{&named{c.recorder, name}}
}

// A sink stores events.
type sink struct{ client client.Client }

// Create stores an event.
func (s *sink) Create(ctx context.Context, e *eventsv1.Event) (*eventsv1.Event, error) {
	return e, s.client.Create(ctx, e)
}

// Update replaces an event.
func (s *sink) Update(ctx context.Context, e *eventsv1.Event) (*eventsv1.Event, error) {
	return e, s.client.Update(ctx, e)
}

// Patch changes an event. Only the series is sent, for which a strategic merge patch
// and a merge patch are the same.
func (s *sink) Patch(ctx context.Context, e *eventsv1.Event, data []byte) (*eventsv1.Event, error) {
	return e, s.client.Patch(ctx, e, client.RawPatch(types.MergePatchType, data))
}

// A legacyRecorder implements a recorder of the core/v1 API with a recorder of events.k8s.io/v1.
type legacyRecorder struct{ recorder recorder.EventRecorder }

// Event records an event.
func (o legacyRecorder) Event(about runtime.Object, kind, reason, message string) {
	o.recorder.Eventf(about, nil, kind, reason, reason, "%s", message)
}

// Eventf records an event.
func (o legacyRecorder) Eventf(about runtime.Object, kind, reason, format string, args ...any) {
	o.recorder.Eventf(about, nil, kind, reason, reason, format, args...)
}

// AnnotatedEventf records an event.
func (o legacyRecorder) AnnotatedEventf(about runtime.Object, annotations map[string]string,
	kind, reason, format string, args ...any) {
	o.recorder.AnnotatedEventf(about, nil, annotations, kind, reason, reason, format, args...)
}
