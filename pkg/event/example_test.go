package event_test

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"

	"github.com/moorage-dev/moorage/pkg/event"
)

func Example() {
	fake := events.NewFakeRecorder(2) // In a provider: mgr.GetEventRecorder("managed/berth").

	r := event.NewRecorder(fake)
	r.Event(&corev1.Pod{}, event.Normal("CreatedExternalResource", "The berth was created"))
	r.Event(&corev1.Pod{}, event.Warning("CannotUpdateExternalResource", errors.New("the harbour is 100% full")))

	fmt.Println(<-fake.Events)
	fmt.Println(<-fake.Events)
	// Output:
	// Normal CreatedExternalResource The berth was created
	// Warning CannotUpdateExternalResource the harbour is 100% full
}
