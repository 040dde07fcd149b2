package controller_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-nats/internal/controller"
	"github.com/moorage-dev/moorage/pkg/conformance"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// only gives every object the same NATS.
type only struct{ nats controller.JetStream }

func (o only) Acquire(context.Context, resource.Managed) (*controller.Link, error) {
	return &controller.Link{JetStream: o.nats, Release: func() {}}, nil
}

// TestConformance runs the conformance suite for every kind over a real NATS, whose connection to the
// provider can be cut.
func TestConformance(t *testing.T) {
	scheme := runtime.NewScheme()
	must(t, corev1.AddToScheme(scheme))
	must(t, v1alpha1.AddToScheme(scheme))

	for name, c := range conforming() {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			wire := newCable(t, w.conn.Address().Servers[0])
			conn := dial(t, wire.url())

			suite := c.suite(port{js: w.js, cable: wire})
			suite.Kind, suite.Scheme, suite.Class = resource.ManagedKind(c.kind.GroupVersionKind()), scheme, conformance.Named
			suite.NewConnecter = func() managed.ExternalConnecter { return controller.NewConnecter(only{conn}, c.kind, cluster) }
			suite.Options = []managed.ReconcilerOption{
				managed.WithVolatileStatus(controller.VolatileStatus()...), managed.WithCreationGracePeriod(0),
			}
			suite.Patience, suite.CallTimeout = time.Minute, time.Minute // to connect again, on whatever machine

			conformance.Run(t, suite)
		})
	}
}

// A candidate describes the objects of a kind, and how to observe their external resources.
type candidate struct {
	kind  controller.Kind
	suite func(port) conformance.Suite
}

func age(d time.Duration) *v1alpha1.Duration {
	return &v1alpha1.Duration{Duration: metav1.Duration{Duration: d}}
}

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "ns", Name: name} }

// mutations returns those of a kind that keeps messages for two hours and in memory by default.
func mutations[T resource.Managed](keep func(T, *v1alpha1.Duration), store func(T, *string)) []conformance.Mutation {
	return []conformance.Mutation{
		// The objects are of the kind.
		{
			Name: "age", Want: map[string]string{"age": "1h0m0s"},
			Change: func(mg resource.Managed) { keep(mg.(T), age(time.Hour)) },
		},
		{Name: "storage", Immutable: true, Change: func(mg resource.Managed) { store(mg.(T), new(v1alpha1.StorageFile)) }},
	}
}

func samples(make func(name string, n int) resource.Managed) []resource.Managed {
	return []resource.Managed{make("orders", 1), make("orders-2", 2)}
}

func conforming() map[string]candidate {
	return map[string]candidate{
		v1alpha1.StreamKind: {controller.StreamKind(), func(p port) conformance.Suite {
			return conformance.Suite{
				Probe: streamProbe{port: p},
				Samples: samples(func(name string, n int) resource.Managed {
					return &v1alpha1.Stream{ObjectMeta: named(name), Spec: v1alpha1.StreamSpec{ForProvider: v1alpha1.StreamParameters{
						Subjects: []string{fmt.Sprintf("orders.%d", n)}, MaxAge: age(2 * time.Hour), Storage: new(v1alpha1.StorageMemory),
					}}}
				}),
				Mutations: mutations(
					func(s *v1alpha1.Stream, d *v1alpha1.Duration) { s.Spec.ForProvider.MaxAge = d },
					func(s *v1alpha1.Stream, storage *string) { s.Spec.ForProvider.Storage = storage },
				),
			}
		}},
		v1alpha1.KeyValueKind: {controller.KeyValueKind(), func(p port) conformance.Suite {
			return conformance.Suite{
				Probe: streamProbe{port: p, prefix: "KV_"},
				Samples: samples(func(name string, _ int) resource.Managed {
					return &v1alpha1.KeyValue{
						ObjectMeta: named(name),
						Spec: v1alpha1.KeyValueSpec{ForProvider: v1alpha1.KeyValueParameters{
							TTL: age(2 * time.Hour), Storage: new(v1alpha1.StorageMemory),
						}},
					}
				}),
				Mutations: mutations(
					func(s *v1alpha1.KeyValue, d *v1alpha1.Duration) { s.Spec.ForProvider.TTL = d },
					func(s *v1alpha1.KeyValue, storage *string) { s.Spec.ForProvider.Storage = storage },
				),
			}
		}},
		v1alpha1.ObjectStoreKind: {controller.ObjectStoreKind(), func(p port) conformance.Suite {
			return conformance.Suite{
				Probe: streamProbe{port: p, prefix: "OBJ_"},
				Samples: samples(func(name string, _ int) resource.Managed {
					return &v1alpha1.ObjectStore{
						ObjectMeta: named(name),
						Spec: v1alpha1.ObjectStoreSpec{ForProvider: v1alpha1.ObjectStoreParameters{
							TTL: age(2 * time.Hour), Storage: new(v1alpha1.StorageMemory),
						}},
					}
				}),
				Mutations: mutations(
					func(s *v1alpha1.ObjectStore, d *v1alpha1.Duration) { s.Spec.ForProvider.TTL = d },
					func(s *v1alpha1.ObjectStore, storage *string) { s.Spec.ForProvider.Storage = storage },
				),
			}
		}},
		v1alpha1.ConsumerKind: {controller.ConsumerKind(), func(p port) conformance.Suite {
			return conformance.Suite{
				Probe: consumerProbe{p},
				Samples: samples(func(name string, _ int) resource.Managed {
					return &v1alpha1.Consumer{
						ObjectMeta: named(name),
						Spec: v1alpha1.ConsumerSpec{ForProvider: v1alpha1.ConsumerParameters{
							Stream: new("sales"), AckWait: age(2 * time.Hour), AckPolicy: new("explicit"),
						}},
					}
				}),
				Mutations: []conformance.Mutation{
					{Name: "age", Want: map[string]string{"age": "1h0m0s"}, Change: func(mg resource.Managed) {
						mg.(*v1alpha1.Consumer).Spec.ForProvider.AckWait = age(time.Hour) // of the kind
					}},
					{Name: "ackPolicy", Immutable: true, Change: func(mg resource.Managed) {
						mg.(*v1alpha1.Consumer).Spec.ForProvider.AckPolicy = new("all") // of the kind
					}},
				},
			}
		}},
	}
}
