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

// A FakeClientProvider returns the clients and errors that a test has stored in it. Make one with
// NewFakeClientProvider. It may be used concurrently.
type FakeClientProvider[C any] struct {
	mu    sync.Mutex
	known map[types.NamespacedName]fake[C]
}

type fake[C any] struct {
	client C
	err    error
	at     metav1.MicroTime
}

// NewFakeClientProvider returns a provider that has the client for the cluster named default. If the client is nil, the
// provider is empty.
func NewFakeClientProvider[C any](defaultClient C) *FakeClientProvider[C] {
	f := &FakeClientProvider[C]{known: map[types.NamespacedName]fake[C]{}}
	if !isNil(defaultClient) {
		f.AddK8sClient(types.NamespacedName{Name: "default"}, defaultClient)
	}

	return f
}

// GetK8sClient returns the client of a cluster and the time at which the client was stored. If nothing was stored for
// the cluster, the error is clusters.ErrNotFound. For a stored error it returns a new error with the same text, so that
// no test relies on the identity of the error.
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

// AddK8sClient stores a client for a cluster, unless a client or an error is already stored. If it has
// stored the client, it returns true and the time of the client. Otherwise it returns false and the zero time.
func (f *FakeClientProvider[C]) AddK8sClient(key types.NamespacedName, client C) (bool, metav1.MicroTime) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.known[key]; ok {
		return false, metav1.MicroTime{}
	}

	return true, f.set(key, client)
}

// SetK8sClient stores a client for a cluster, and replaces a stored client or error. It returns the time of the client,
// which is later than the time of the replaced client.
func (f *FakeClientProvider[C]) SetK8sClient(key types.NamespacedName, client C) metav1.MicroTime {
	f.mu.Lock()
	defer f.mu.Unlock()

	return f.set(key, client)
}

// SetClusterError stores an error for a cluster, and replaces a stored client or error.
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
