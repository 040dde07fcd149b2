package providerconfig

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A user is an object that may refer to a configuration.
type user struct {
	kind      schema.GroupKind
	namespace string
	name      string
}

func (u user) String() string {
	if u.namespace == "" {
		return u.kind.Kind + " " + u.name
	}

	return u.kind.Kind + " " + u.namespace + "/" + u.name
}

// An index says who uses what. It holds nothing of objects that are gone. It may be
// used concurrently.
type index struct {
	mu    sync.RWMutex
	uses  map[user]key
	users map[key]map[user]struct{}
}

func newIndex() *index {
	return &index{uses: map[user]key{}, users: map[key]map[user]struct{}{}}
}

// set notes that a user refers to a configuration, or to none, and returns the
// configurations whose number of users has changed. After the context of whoever
// follows the users has ended it does nothing: events may come late.
func (i *index) set(ctx context.Context, u user, k key, refers bool) []key {
	i.mu.Lock()
	defer i.mu.Unlock()
	if ctx.Err() != nil {
		return nil
	}
	old, had := i.uses[u]
	if had && refers && old == k {
		return nil
	}
	var changed []key
	if had {
		i.drop(u, old)
		changed = append(changed, old)
	}
	if refers {
		i.uses[u] = k
		if i.users[k] == nil {
			i.users[k] = map[user]struct{}{}
		}
		i.users[k][u] = struct{}{}
		changed = append(changed, k)
	}

	return changed
}

func (i *index) drop(u user, k key) {
	delete(i.uses, u)
	delete(i.users[k], u)
	if len(i.users[k]) == 0 {
		delete(i.users, k)
	}
}

// clear forgets all users of a kind, and returns the configurations they used.
func (i *index) clear(kind schema.GroupKind) []key {
	i.mu.Lock()
	defer i.mu.Unlock()
	changed := map[key]struct{}{}
	for u, k := range i.uses {
		if u.kind == kind {
			i.drop(u, k)
			changed[k] = struct{}{}
		}
	}
	keys := make([]key, 0, len(changed))
	for k := range changed {
		keys = append(keys, k)
	}

	return keys
}

func (i *index) count(k key) int {
	i.mu.RLock()
	defer i.mu.RUnlock()

	return len(i.users[k])
}

// first returns the names of the first users of a configuration, in their order.
func (i *index) first(k key, most int) []string {
	names := i.names(k)
	slices.Sort(names)

	return names[:min(most, len(names))]
}

// names returns the names of all users of a configuration, in any order.
func (i *index) names(k key) []string {
	i.mu.RLock()
	defer i.mu.RUnlock()
	names := make([]string, 0, len(i.users[k]))
	for u := range i.users[k] {
		names = append(names, u.String())
	}

	return names
}
