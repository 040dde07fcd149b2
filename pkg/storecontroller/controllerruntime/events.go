package controllerruntime

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/moorage-dev/moorage/pkg/event"
)

// An eventBroadcaster starts to send events with the first recorder. The zero value is ready to use.
type eventBroadcaster struct {
	mu          sync.Mutex
	broadcaster record.EventBroadcaster
	rec         event.Recorder
}

// recorder returns the recorder, and creates it if necessary.
func (e *eventBroadcaster) recorder(kube kubernetes.Interface, name string) event.Recorder {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.rec == nil {
		e.broadcaster = record.NewBroadcaster()
		e.broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: kube.CoreV1().Events("")})
		e.rec = event.NewAPIRecorder(e.broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: name}))
	}

	return e.rec
}

// stop stops sending. A later call of recorder starts again.
func (e *eventBroadcaster) stop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.broadcaster != nil {
		e.broadcaster.Shutdown()
	}
	e.broadcaster, e.rec = nil, nil
}
