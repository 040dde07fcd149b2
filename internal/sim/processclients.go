package sim

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/sim/bucket"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
)

// A split is a cluster whose uncached reader is the server.
type split struct {
	*fake.Manager

	live    client.Reader
	process *process
}

func (s split) GetAPIReader() client.Reader { return live{s.live, s.GetScheme(), s.process.ask} }

// A live reader reads from the server. It also supports reading only the metadata of objects.
type live struct {
	client.Reader

	scheme *runtime.Scheme
	ask    apiserver.Around // for what is not stored
}

func (l live) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	m, ok := o.(*metav1.PartialObjectMetadata)
	if !ok {
		return l.Reader.Get(ctx, key, o, opts...)
	}
	whole, err := l.scheme.New(m.GroupVersionKind())
	if _, stored := whole.(*bucket.Definition); !stored && m.GroupVersionKind() == bucket.DefinitionKind {
		return l.definition(ctx, key, m)
	}
	if err != nil {
		return err
	}
	typed, ok := whole.(client.Object)
	if !ok {
		return errors.Errorf("%s has no metadata", m.Kind)
	}
	if err := l.Reader.Get(ctx, key, typed, opts...); err != nil {
		return err
	}
	m.SetName(typed.GetName())
	m.SetUID(typed.GetUID())
	m.SetDeletionTimestamp(typed.GetDeletionTimestamp())

	return nil
}

// definition reads the CustomResourceDefinition of a kind that is not stored. Objects of the kind are served, so the
// definition exists and is not being deleted.
func (l live) definition(ctx context.Context, key client.ObjectKey, m *metav1.PartialObjectMetadata) error {
	return l.ask(ctx, apiserver.Request{Verb: "get", Kind: bucket.DefinitionKind, Key: key}, func() error {
		m.SetName(key.Name)

		return nil
	})
}

// A cached client reads objects of the kind from the cache.
type cached struct {
	*apiserver.Client

	process *process
}

// RESTMapper returns a mapper with the managed kind.
func (c *cached) RESTMapper() meta.RESTMapper { return c.process.cache.mapper() }

// mapper returns a mapper with the kind of the cache.
func (c *cache) mapper() meta.RESTMapper {
	kind := c.kind
	m := meta.NewDefaultRESTMapper([]schema.GroupVersion{kind.GroupVersion()})
	m.Add(kind, meta.RESTScopeNamespace)

	return m
}

// Get reads an object of the kind from the cache.
func (c *cached) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	p := c.process
	gvk, err := c.GroupVersionKindFor(o)
	kept := p.cacheOf(gvk)
	if err != nil || kept == nil {
		return c.Client.Get(ctx, key, o, opts...)
	}

	of := Operation{Name: "get", kind: gvk, key: key}
	if kept != p.cache {
		of.Name += ":" + gvk.Kind
	}
	if isBeside(ctx) {
		return p.background.requests.ask(ctx, of, func() error { return kept.get(key, o, opts) })
	}
	err = p.world.step(ctx, p, of, func(context.Context) error { return kept.get(key, o, opts) })
	if err == nil && kept == p.cache {
		p.recordRead(key, o)
	}

	return err
}
