package crdgate

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// An oneInformer is a cache that has one informer, which counts who is in.
type oneInformer struct {
	cache.Cache
	cache.Informer

	in int
}

func (o *oneInformer) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return o, nil
}

func (o *oneInformer) GetInformerForKind(context.Context, schema.GroupVersionKind,
	...cache.InformerGetOption) (cache.Informer, error) {
	return o, nil
}

func (o *oneInformer) AddEventHandlerWithOptions(toolscache.ResourceEventHandler,
	toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	o.in++

	return nil, nil
}

func (o *oneInformer) RemoveEventHandler(toolscache.ResourceEventHandlerRegistration) error {
	o.in--

	return nil
}

// TestLeasedHandlersLeave: however a handler came in, it leaves with its controller, and none comes late.
func TestLeasedHandlersLeave(t *testing.T) {
	o := &oneInformer{}
	c := &scopedCache{Cache: o}
	a, err := c.GetInformer(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.GetInformerForKind(t.Context(), gvk("Bucket"))
	if err != nil {
		t.Fatal(err)
	}
	add := func() []error {
		_, one := a.AddEventHandler(nil)
		_, two := b.AddEventHandlerWithResyncPeriod(nil, time.Hour)
		_, three := a.AddEventHandlerWithOptions(nil, toolscache.HandlerOptions{})

		return []error{one, two, three}
	}
	for i, err := range add() {
		if err != nil {
			t.Errorf("handler %d: %v", i, err)
		}
	}
	if o.in != 3 {
		t.Errorf("%d handlers are in, want 3", o.in)
	}
	c.release()
	if o.in != 0 {
		t.Errorf("%d handlers are left, want none", o.in)
	}
	for i, err := range add() {
		if err == nil || o.in != 0 {
			t.Errorf("handler %d came in late: %v", i, err)
		}
	}
}
