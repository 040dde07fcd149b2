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

// latency changes objects one after the other, while the controller runs and has
// nothing to do, and prints how long the news of a change takes: from when its write
// was begun to when the copy in memory has it.
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

// versions are those that an informer of Kubernetes has told of.
type versions struct {
	mu   sync.Mutex
	told map[string]chan struct{} // closed when it was told
}

func (v *versions) of(version string) chan struct{} {
	if v.told[version] == nil {
		v.told[version] = make(chan struct{})
	}

	return v.told[version]
}

func (v *versions) note(obj any) {
	o, ok := obj.(client.Object)
	if !ok {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	told := v.of(o.GetResourceVersion())
	select {
	case <-told: // an informer may repeat itself
	default:
		close(told)
	}
}

func (v *versions) wait(ctx context.Context, version string) error {
	v.mu.Lock()
	told := v.of(version)
	v.mu.Unlock()
	select {
	case <-told:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// handler notes what an informer tells.
func (v *versions) handler() toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{AddFunc: v.note, UpdateFunc: func(_, now any) { v.note(now) }}
}
