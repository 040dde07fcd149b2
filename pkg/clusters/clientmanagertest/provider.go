package clientmanagertest

import (
	"reflect"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// A FakeClientProvider hands out the clients and errors that it was given. Make one
// with NewFakeClientProvider; it may be used concurrently.
type FakeClientProvider[C any] struct {
	mu    sync.Mutex
	known map[types.NamespacedName]fake[C]
}

type fake[C any] struct {
	client C
	err    error
	at     metav1.MicroTime
}

// NewFakeClientProvider returns a provider that knows the client for the cluster
// called default, or nothing if the client is nil.
func NewFakeClientProvider[C any](defaultClient C) *FakeClientProvider[C] {
	f := &FakeClientProvider[C]{known: map[types.NamespacedName]fake[C]{}}
	if !isNil(defaultClient) {
		f.AddK8sClient(types.NamespacedName{Name: "default"}, defaultClient)
	}

	return f
}

// GetK8sClient returns the client of a cluster and the time that it was stored. The
// error is clusters.ErrNotFound for a cluster that nothing was stored for. A stored
// error comes back with its text alone, so that no test relies on its identity.
func (f *FakeClientProvider[C]) GetK8sClient(clusterKey types.NamespacedName) (C, metav1.MicroTime, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var none C
	known, ok := f.known[clusterKey]
	switch {
	case clusterKey.Name == "":
		return none, metav1.MicroTime{}, errors.New("cluster key cannot be empty")
	case !ok:
		return none, metav1.MicroTime{}, clusters.ErrNotFound
	case known.err != nil:
		return none, metav1.MicroTime{}, errors.New(known.err.Error())
	default:
		return known.client, known.at, nil
	}
}

// AddK8sClient stores a client unless there is one, or an error, for the cluster
// already. It reports whether it did, and the time.
func (f *FakeClientProvider[C]) AddK8sClient(key types.NamespacedName, client C) (bool, metav1.MicroTime) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.known[key]; ok {
		return false, metav1.MicroTime{}
	}

	return true, f.set(key, client)
}

// SetK8sClient stores a client in place of whatever there is for the cluster. The time
// it returns is later than that of the client before.
func (f *FakeClientProvider[C]) SetK8sClient(key types.NamespacedName, client C) metav1.MicroTime {
	f.mu.Lock()
	defer f.mu.Unlock()

	return f.set(key, client)
}

// SetClusterError stores an error in place of whatever there is for the cluster.
func (f *FakeClientProvider[C]) SetClusterError(key types.NamespacedName, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known[key] = fake[C]{err: err, at: f.known[key].at}
}

// set stores a client; the lock is held.
func (f *FakeClientProvider[C]) set(key types.NamespacedName, client C) metav1.MicroTime {
	now := clock.RealClock{}.Now().Truncate(time.Microsecond)
	if last := f.known[key].at.Time; !now.After(last) {
		now = last.Add(time.Microsecond)
	}
	f.known[key] = fake[C]{client: client, at: metav1.NewMicroTime(now)}

	return f.known[key].at
}

func isNil(v any) bool {
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Interface, reflect.Map, reflect.Slice, reflect.Chan, reflect.Func:
		return r.IsNil()
	default:
		return false
	}
}
