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

// String returns the kind and the name of the user.
func (u user) String() string {
	if u.namespace == "" {
		return u.kind.Kind + " " + u.name
	}

	return u.kind.Kind + " " + u.namespace + "/" + u.name
}

// An index maps users to configurations, and configurations to users. It has no entries for objects that are gone. It
// is safe for concurrent use.
type index struct {
	mu            sync.RWMutex
	configByUser  map[user]key
	usersByConfig map[key]map[user]struct{}
}

// newIndex returns an empty index.
func newIndex() *index {
	return &index{configByUser: map[user]key{}, usersByConfig: map[key]map[user]struct{}{}}
}

// set records to which configuration a user refers, or that it refers to none. It returns the configurations whose
// number of users has changed. The ctx is the context of the watch. After it has ended, set does nothing, because
// events may arrive late.
func (i *index) set(ctx context.Context, u user, k key, refers bool) []key {
	i.mu.Lock()
	defer i.mu.Unlock()
	if ctx.Err() != nil {
		return nil
	}
	old, had := i.configByUser[u]
	if had && refers && old == k {
		return nil
	}
	var changed []key
	if had {
		i.remove(u, old)
		changed = append(changed, old)
	}
	if refers {
		i.configByUser[u] = k
		if i.usersByConfig[k] == nil {
			i.usersByConfig[k] = map[user]struct{}{}
		}
		i.usersByConfig[k][u] = struct{}{}
		changed = append(changed, k)
	}

	return changed
}

// remove removes a user of a configuration.
func (i *index) remove(u user, k key) {
	delete(i.configByUser, u)
	delete(i.usersByConfig[k], u)
	if len(i.usersByConfig[k]) == 0 {
		delete(i.usersByConfig, k)
	}
}

// clear removes all users of a kind, and returns the configurations that they used.
func (i *index) clear(kind schema.GroupKind) []key {
	i.mu.Lock()
	defer i.mu.Unlock()
	changed := map[key]struct{}{}
	for u, k := range i.configByUser {
		if u.kind == kind {
			i.remove(u, k)
			changed[k] = struct{}{}
		}
	}
	keys := make([]key, 0, len(changed))
	for k := range changed {
		keys = append(keys, k)
	}

	return keys
}

// count returns the number of users of a configuration.
func (i *index) count(k key) int {
	i.mu.RLock()
	defer i.mu.RUnlock()

	return len(i.usersByConfig[k])
}

// firstNames returns the first names of users of a configuration in sorted order, at most the given number.
func (i *index) firstNames(k key, most int) []string {
	names := i.names(k)
	slices.Sort(names)

	return names[:min(most, len(names))]
}

// names returns the names of all users of a configuration, in any order.
func (i *index) names(k key) []string {
	i.mu.RLock()
	defer i.mu.RUnlock()
	names := make([]string, 0, len(i.usersByConfig[k]))
	for u := range i.usersByConfig[k] {
		names = append(names, u.String())
	}

	return names
}
