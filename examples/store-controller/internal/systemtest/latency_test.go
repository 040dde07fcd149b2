package systemtest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// latency changes objects one after the other, while the controller is idle, and prints the latency of a change: from
// the start of the write until the cache has it.
func latency(t *testing.T, name string, change func(ctx context.Context, n int) (time.Duration, error)) {
	t.Helper()
	var all []time.Duration
	for n := range measured {
		within(t, "a change that is watched", func(ctx context.Context) error {
			took, err := change(ctx, n)
			if err == nil {
				all = append(all, took)
			}

			return err
		})
	}
	slices.Sort(all)
	fmt.Printf("write-to-watched-%s-p50: %s\nwrite-to-watched-%s-p99: %s\n",
		name, all[len(all)/2].Round(time.Microsecond), name, all[len(all)*99/100].Round(time.Microsecond))
}

// versions has the resource versions that an informer of Kubernetes has reported.
type versions struct {
	mu   sync.Mutex
	seen map[string]chan struct{} // closed when the informer has reported it
}

func (v *versions) of(version string) chan struct{} {
	if v.seen[version] == nil {
		v.seen[version] = make(chan struct{})
	}

	return v.seen[version]
}

func (v *versions) note(obj any) {
	o, ok := obj.(client.Object)
	if !ok {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	seen := v.of(o.GetResourceVersion())
	select {
	case <-seen: // an informer may report a version twice
	default:
		close(seen)
	}
}

func (v *versions) wait(ctx context.Context, version string) error {
	v.mu.Lock()
	seen := v.of(version)
	v.mu.Unlock()
	select {
	case <-seen:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// handler returns a handler that notes the versions that an informer reports.
func (v *versions) handler() toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{AddFunc: v.note, UpdateFunc: func(_, now any) { v.note(now) }}
}
