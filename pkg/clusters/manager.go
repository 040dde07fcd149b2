package clusters

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

// A Change is the result of Refresh.
type Change int

// Results of Refresh. After Replaced and Lost, the caller has to stop everything that uses the previous connection.
// Refresh returns each of them once per replacement or loss.
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

// A Manager tracks which object uses which revision of a cluster connection. It reports a replacement exactly once to
// each user. It returns a connection only if the revision of the connection equals the revision that the caller has
// read. Use it like this:
//
//	change, err := m.Refresh(ctx, user, ref)  // unless Unchanged: stop what uses the old connection
//	lease, err := m.Get(ctx, user, ref)       // then use the new one, under lease.Context
//	m.Forget(user)                            // when the object is gone
//
// Its methods may be called concurrently. It holds no lock while it calls a provider.
type Manager[C any] struct {
	leases         Acquirer[C]
	endsNoLeases   bool     // the provider is no Acquirer: see use.ended
	keepsIdleUsers bool     // users without a connection are tracked
	notifier       Notifier // nil if the provider is none

	mu        sync.Mutex // guards the fields below; not held during calls
	users     map[User]map[Key]use
	byCluster map[Key]map[User]struct{}
	listeners map[*func(Key)]struct{}
}

// A use records which connection a user has got. The zero value means that the user has asked for a connection and has
// not got one.
type use struct {
	uid      string
	revision Revision

	// Closed when the lease has ended. A later connection is a different connection, even if it has the same revision. Nil
	// if the provider is not an Acquirer. In this case only revisions are compared.
	ended <-chan struct{}
}

// isZero reports whether the user has no connection.
func (m use) isZero() bool { return m.uid == "" && m.revision == "" }

// sameRevision reports whether both uses have the same revision of the same cluster.
func (m use) sameRevision(o use) bool { return m.uid == o.uid && m.revision == o.revision }

// hasEnded reports whether the lease has ended.
func (m use) hasEnded() bool {
	select {
	case <-m.ended:
		return true
	default:
		return false
	}
}

// A ManagerOption configures a Manager.
type ManagerOption func(*managerOptions)

type managerOptions struct{ forgetsIdle bool }

// WithoutIdleUsers tracks only users that have got a connection. By default the manager also tracks users that have
// asked for a connection and have not got one. Use WithoutIdleUsers in a program that calls none of the methods Forget,
// Users and Source.
func WithoutIdleUsers() ManagerOption {
	return func(o *managerOptions) { o.forgetsIdle = true }
}

// NewManager returns a manager of the connections of a provider. If the provider is an Acquirer, such as a Cache, the
// manager returns the leases of the provider. If the provider is a Notifier, Source uses its notifications.
func NewManager[C any](p Provider[C], options ...ManagerOption) *Manager[C] {
	o := managerOptions{}
	for _, option := range options {
		option(&o)
	}
	m := &Manager[C]{
		keepsIdleUsers: !o.forgetsIdle,
		users:          map[User]map[Key]use{}, byCluster: map[Key]map[User]struct{}{}, listeners: map[*func(Key)]struct{}{},
	}
	m.notifier, _ = p.(Notifier)
	leases, ok := p.(Acquirer[C])
	if !ok {
		leases = newGenerations(p)
	}
	m.leases, m.endsNoLeases = leases, !ok

	return m
}

// Get returns a lease on the connection to a cluster, and records that the user uses the connection. The caller must
// release the lease.
//
// The error is ErrStale if the revision of the provider differs from the revision that the caller has read. It is also
// ErrStale if Get has returned another connection to the user before, and the user has not called Refresh since then.
// Errors of the provider are returned unchanged.
func (m *Manager[C]) Get(ctx context.Context, u User, r Ref) (Lease[C], error) {
	lease, _, err := m.get(ctx, u, r)

	return lease, err
}

// get implements Get. It also returns the current revision of the provider, or "" if there is none.
func (m *Manager[C]) get(ctx context.Context, u User, r Ref) (Lease[C], Revision, error) {
	m.addUser(u, r.Key)
	lease, err := m.leases.Acquire(ctx, r.Key)
	if err != nil {
		return Lease[C]{}, "", err
	}
	now := use{uid: string(r.UID), revision: lease.Revision}
	if !m.endsNoLeases && lease.Context != nil {
		now.ended = lease.Context.Done()
	}
	if lease.Revision != r.Revision || !m.recordUse(u, r.Key, now) {
		lease.Release()

		return Lease[C]{}, lease.Revision, ErrStale
	}

	return lease, lease.Revision, nil
}

// recordUse records the connection that a user gets. It returns false if the user has got another connection before and
// has not called Refresh since then.
func (m *Manager[C]) recordUse(u User, key Key, now use) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if before := m.users[u][key]; !before.isZero() &&
		(!before.sameRevision(now) || before.ended != now.ended && before.hasEnded()) {
		return false
	}
	m.setUse(u, key, now)

	return true
}

// Refresh reports whether the user's connection to a cluster was replaced or lost. It compares the connection that Get
// last returned to the user with the revision that the caller has read. If the connection was replaced or lost, Refresh
// forgets the connection, so that the next Get can succeed. A connection that ended and was made again counts as
// replaced, even if it has the same revision. For a user without a connection, Refresh returns Unchanged.
//
// The error is the reason why there is no connection now, such as ErrStale. The returned Change is valid even if there
// is an error. If the user's connection has not ended, and has the revision that the caller has read, Refresh does not
// call the provider and returns no error.
func (m *Manager[C]) Refresh(ctx context.Context, u User, r Ref) (Change, error) {
	m.mu.Lock()
	built := m.users[u][r.Key]
	m.mu.Unlock()
	same := !built.isZero() && built.sameRevision(use{uid: string(r.UID), revision: r.Revision})
	if same && !built.hasEnded() {
		return Unchanged, nil
	}
	lease, current, err := m.get(ctx, u, r)
	lease.Release()
	switch {
	case err == nil || built.isZero():
		return Unchanged, err
	case same && current != r.Revision:
		return Unchanged, err // it has ended; the caller has read an older state, and there is no new one yet
	}
	m.mu.Lock()
	if m.users[u][r.Key] == built {
		m.setUse(u, r.Key, use{})
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

// Lose removes all connections of a user. Call it if all clusters of the user are gone. It reports whether the user had
// any connection.
func (m *Manager[C]) Lose(u User) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	built := false
	for key, on := range m.users[u] {
		built = built || !on.isZero()
		m.setUse(u, key, use{})
	}

	return built
}

// LoseCluster removes the connection of a user to one cluster. Call it if this cluster is gone. It reports whether the
// user had a connection to this cluster.
func (m *Manager[C]) LoseCluster(u User, key Key) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	on, known := m.users[u][key]
	if known {
		m.setUse(u, key, use{})
	}

	return !on.isZero()
}

// Built returns the revisions of the user's connections by cluster. It leaves out connections that Refresh has reported
// as replaced or lost.
func (m *Manager[C]) Built(u User) map[Key]Revision {
	m.mu.Lock()
	defer m.mu.Unlock()
	built := map[Key]Revision{}
	for key, on := range m.users[u] {
		if !on.isZero() {
			built[key] = on.revision
		}
	}

	return built
}

// Forget removes a user. Call it when the object does not exist any more.
func (m *Manager[C]) Forget(u User) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key := range m.users[u] {
		m.removeUse(u, key)
	}
}

// ForgetCluster removes a cluster and all records of its use. Call it when the cluster does not exist any more. If the
// provider is not an Acquirer, ForgetCluster also ends the leases on the cluster.
func (m *Manager[C]) ForgetCluster(key Key) {
	m.mu.Lock()
	for u := range m.byCluster[key] {
		m.removeUse(u, key)
	}
	m.mu.Unlock()
	if e, ok := m.leases.(*generations[C]); ok {
		e.forget(key)
	}
}

// Users returns the users of a cluster in sorted order. The result includes users that have asked for a connection and
// have not got one.
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

// compareUsers orders users by kind, namespace and name.
func compareUsers(a, b User) int {
	return cmp.Or(
		cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Key.Namespace, b.Key.Namespace), cmp.Compare(a.Key.Name, b.Key.Name))
}

// Named returns the users of any kind that have the name, in sorted order.
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

// addUser records that a user has asked for a cluster.
func (m *Manager[C]) addUser(u User, key Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.setUse(u, key, m.users[u][key])
}

// setUse stores the use of a cluster by a user. The caller holds the lock.
func (m *Manager[C]) setUse(u User, key Key, on use) {
	if on.isZero() && !m.keepsIdleUsers {
		m.removeUse(u, key)

		return
	}
	if m.users[u] == nil {
		m.users[u] = map[Key]use{}
	}
	if m.byCluster[key] == nil {
		m.byCluster[key] = map[User]struct{}{}
	}
	m.users[u][key] = on
	m.byCluster[key][u] = struct{}{}
}

// removeUse removes the use of a cluster by a user. The caller holds the lock.
func (m *Manager[C]) removeUse(u User, key Key) {
	delete(m.users[u], key)
	if len(m.users[u]) == 0 {
		delete(m.users, u)
	}
	delete(m.byCluster[key], u)
	if len(m.byCluster[key]) == 0 {
		delete(m.byCluster, key)
	}
}
