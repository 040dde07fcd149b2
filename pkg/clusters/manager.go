package clusters

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

// A Change is what has become of a connection that an object has built something on.
type Change int

// What Refresh may say. After Replaced and Lost everything has to go that was built
// on the connection before: once, since Refresh says so once.
const (
	Unchanged Change = iota
	Replaced
	Lost
)

// String returns the name of the change.
func (c Change) String() string {
	switch c {
	case Replaced:
		return "Replaced"
	case Lost:
		return "Lost"
	default:
		return "Unchanged"
	}
}

// A Manager remembers which object has built something on which revision of which
// cluster, so that each is told exactly once to throw that away, and none gets a
// connection that does not belong to the cluster as it has read it. Use it so:
//
//	change, err := m.Refresh(ctx, user, ref)  // not Unchanged: throw away what was built
//	lease, err := m.Get(ctx, user, ref)       // then build, under lease.Context
//	m.Forget(user)                            // when the object is gone
//
// Its methods may be called concurrently. Providers are called without a lock held.
type Manager[C any] struct {
	leases   Acquirer[C]
	plain    bool     // leases are made up here: see mark.over
	idle     bool     // users who have built nothing are remembered
	notifier Notifier // nil: there is none

	mu        sync.Mutex // guards what follows; never held while anything is called
	users     map[User]map[Key]mark
	byCluster map[Key]map[User]struct{}
	listeners map[*func(Key)]struct{}
}

// A mark is the revision that an object has built on. The zero value says that it has
// asked, and got nothing so far.
type mark struct {
	uid      string
	revision Revision

	// Closed when the lease has ended: what comes back then is another connection, of
	// whatever revision. Nil for plain providers: theirs is told by its revision alone.
	over <-chan struct{}
}

func (m mark) none() bool { return m.uid == "" && m.revision == "" }

// is reports whether two marks are of the same revision of the same cluster.
func (m mark) is(o mark) bool { return m.uid == o.uid && m.revision == o.revision }

func (m mark) ended() bool {
	select {
	case <-m.over:
		return true
	default:
		return false
	}
}

// A ManagerOption changes a Manager.
type ManagerOption func(*managerOptions)

type managerOptions struct{ forgetsIdle bool }

// WithoutIdleUsers lets a manager remember only users who have built something, not those
// who would like to: for programs that do not call Forget, and neither Users nor Source.
func WithoutIdleUsers() ManagerOption {
	return func(o *managerOptions) { o.forgetsIdle = true }
}

// NewManager returns a manager of the connections of a provider. If that is an
// Acquirer too, such as a Cache, its leases are handed out; if it is a Notifier,
// Source listens to it.
func NewManager[C any](p Provider[C], options ...ManagerOption) *Manager[C] {
	o := managerOptions{}
	for _, option := range options {
		option(&o)
	}
	m := &Manager[C]{
		idle:  !o.forgetsIdle,
		users: map[User]map[Key]mark{}, byCluster: map[Key]map[User]struct{}{}, listeners: map[*func(Key)]struct{}{},
	}
	m.notifier, _ = p.(Notifier)
	leases, ok := p.(Acquirer[C])
	if !ok {
		leases = newEpochs(p)
	}
	m.leases, m.plain = leases, !ok

	return m
}

// Get returns a lease on the connection to the cluster as the caller has read it, and
// remembers that the user builds on it. The caller releases the lease.
//
// The error is ErrStale if the provider has another revision than the caller has
// read, or if the user was given another one before and has not called Refresh since;
// or it is what the provider said, unchanged.
func (m *Manager[C]) Get(ctx context.Context, u User, r Ref) (Lease[C], error) {
	lease, _, err := m.get(ctx, u, r)

	return lease, err
}

// get is Get, and also returns the revision that the provider has, if any.
func (m *Manager[C]) get(ctx context.Context, u User, r Ref) (Lease[C], Revision, error) {
	m.note(u, r.Key)
	lease, err := m.leases.Acquire(ctx, r.Key)
	if err != nil {
		return Lease[C]{}, "", err
	}
	now := mark{uid: string(r.UID), revision: lease.Revision}
	if !m.plain && lease.Context != nil {
		now.over = lease.Context.Done()
	}
	if lease.Revision != r.Revision || !m.mark(u, r.Key, now) {
		lease.Release()

		return Lease[C]{}, lease.Revision, ErrStale
	}

	return lease, lease.Revision, nil
}

// mark remembers what a user builds on, unless it has built on something else.
func (m *Manager[C]) mark(u User, key Key, now mark) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if built := m.users[u][key]; !built.none() && (!built.is(now) || built.over != now.over && built.ended()) {
		return false
	}
	m.set(u, key, now)

	return true
}

// Refresh says whether the connection that the user has built on is still that of the
// cluster as the caller has read it. If it is not, that is forgotten, so that the
// next Get can succeed. One that has ended and come back is another one, though it has
// the same revision. A user who has built nothing is told Unchanged.
//
// The error says why there is no connection to be had now, ErrStale among other
// reasons; the change is valid with and without one. Nothing is asked, and there is no
// error, while the user has built on what the caller has read and that has not ended.
func (m *Manager[C]) Refresh(ctx context.Context, u User, r Ref) (Change, error) {
	m.mu.Lock()
	built := m.users[u][r.Key]
	m.mu.Unlock()
	same := !built.none() && built.is(mark{uid: string(r.UID), revision: r.Revision})
	if same && !built.ended() {
		return Unchanged, nil
	}
	lease, current, err := m.get(ctx, u, r)
	lease.Release()
	switch {
	case err == nil || built.none():
		return Unchanged, err
	case same && current != r.Revision:
		return Unchanged, err // it has ended, which the caller does not see yet, and is not back
	}
	m.mu.Lock()
	if m.users[u][r.Key] == built {
		m.set(u, r.Key, mark{})
	}
	m.mu.Unlock()
	switch {
	case current == "" || r.Revision == "":
		return Lost, err
	case current != r.Revision:
		return Replaced, err
	default:
		return Replaced, nil
	}
}

// Lose forgets whatever a user has built on any cluster, because the cluster is gone
// for this user. It reports whether that was anything.
func (m *Manager[C]) Lose(u User) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	built := false
	for key, on := range m.users[u] {
		built = built || !on.none()
		m.set(u, key, mark{})
	}

	return built
}

// LoseCluster forgets what a user has built on one cluster, because that is gone for this user.
// It reports whether that was anything.
func (m *Manager[C]) LoseCluster(u User, key Key) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	on, known := m.users[u][key]
	if known {
		m.set(u, key, mark{})
	}

	return !on.none()
}

// Built returns the revisions that a user has built on, by cluster: none of what it has
// asked for and not got, nor of what Refresh told it to throw away.
func (m *Manager[C]) Built(u User) map[Key]Revision {
	m.mu.Lock()
	defer m.mu.Unlock()
	built := map[Key]Revision{}
	for key, on := range m.users[u] {
		if !on.none() {
			built[key] = on.revision
		}
	}

	return built
}

// Forget drops a user that is gone.
func (m *Manager[C]) Forget(u User) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key := range m.users[u] {
		m.drop(u, key)
	}
}

// ForgetCluster drops a cluster that is gone, and what anybody has built on it. Leases
// of a provider that cannot end them by itself end.
func (m *Manager[C]) ForgetCluster(key Key) {
	m.mu.Lock()
	for u := range m.byCluster[key] {
		m.drop(u, key)
	}
	m.mu.Unlock()
	if e, ok := m.leases.(*epochs[C]); ok {
		e.forget(key)
	}
}

// Users returns who has built on a cluster, or would like to, in order.
func (m *Manager[C]) Users(key Key) []User {
	m.mu.Lock()
	defer m.mu.Unlock()
	users := make([]User, 0, len(m.byCluster[key]))
	for u := range m.byCluster[key] {
		users = append(users, u)
	}
	slices.SortFunc(users, compareUsers)

	return users
}

func compareUsers(a, b User) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Key.Namespace, b.Key.Namespace), cmp.Compare(a.Key.Name, b.Key.Name))
}

// Named returns the users of that name, of whatever kind, in order.
func (m *Manager[C]) Named(name Key) []User {
	m.mu.Lock()
	defer m.mu.Unlock()
	var users []User
	for u := range m.users {
		if u.Key == name {
			users = append(users, u)
		}
	}
	slices.SortFunc(users, compareUsers)

	return users
}

// note remembers that a user wants to know of a cluster.
func (m *Manager[C]) note(u User, key Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.set(u, key, m.users[u][key])
}

// set remembers what a user has built on. The lock is held.
func (m *Manager[C]) set(u User, key Key, on mark) {
	if on.none() && !m.idle {
		m.drop(u, key)

		return
	}
	if m.users[u] == nil {
		m.users[u] = map[Key]mark{}
	}
	if m.byCluster[key] == nil {
		m.byCluster[key] = map[User]struct{}{}
	}
	m.users[u][key] = on
	m.byCluster[key][u] = struct{}{}
}

// drop forgets that a user wanted to know of a cluster. The lock is held.
func (m *Manager[C]) drop(u User, key Key) {
	delete(m.users[u], key)
	if len(m.users[u]) == 0 {
		delete(m.users, u)
	}
	delete(m.byCluster[key], u)
	if len(m.byCluster[key]) == 0 {
		delete(m.byCluster, key)
	}
}
