package event_test

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"

	"github.com/moorage-dev/moorage/pkg/event"
)

func Example() {
	fake := events.NewFakeRecorder(2) // In a provider: mgr.GetEventRecorder("managed/disk").

	r := event.NewRecorder(fake)
	r.Event(&corev1.Pod{}, event.Normal("CreatedExternalResource", "The disk was created"))
	r.Event(&corev1.Pod{}, event.Warning("CannotUpdateExternalResource", errors.New("the storage is 100% full")))

	fmt.Println(<-fake.Events)
	fmt.Println(<-fake.Events)
	// Output:
	// Normal CreatedExternalResource The disk was created
	// Warning CannotUpdateExternalResource the storage is 100% full
}

func ExampleNewThrottledRecorder() {
	fake := events.NewFakeRecorder(3)

	r := event.NewThrottledRecorder(event.NewRecorder(fake), event.WithMaxSilence(time.Hour))
	for _, problem := range []string{"the storage is full", "the storage is full", "the storage is closed"} {
		r.Event(&corev1.Pod{}, event.Warning("CannotUpdateExternalResource", errors.New(problem)))
	}

	fmt.Println(<-fake.Events)
	fmt.Println(<-fake.Events)
	// Output:
	// Warning CannotUpdateExternalResource the storage is full
	// Warning CannotUpdateExternalResource the storage is closed
}
