package clientmanager

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/clusters"
)

// metadataKind is the kind of an object of which only the metadata is given.
const metadataKind = ""

// user returns the user of an object. Objects with the same name are distinguished by
// their types. Metadata stands for the object of that name which was given clients, and
// the other way round.
func (m *ClientManager[C]) user(obj KeyableObject) clusters.User {
	u := clusters.User{Kind: kindOf(obj), Key: types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}}
	if m.hasClients(u) {
		return u
	}
	if u.Kind != metadataKind {
		if alone := (clusters.User{Kind: metadataKind, Key: u.Key}); m.hasClients(alone) {
			return alone
		}

		return u
	}
	var given []clusters.User
	for _, other := range m.manager.Named(u.Key) {
		if m.hasClients(other) {
			given = append(given, other)
		}
	}
	if len(given) == 1 {
		return given[0]
	}

	return u
}

// hasClients reports whether a user was given a client.
func (m *ClientManager[C]) hasClients(u clusters.User) bool { return len(m.manager.Built(u)) > 0 }

// kindOf returns the name of the type of an object or of the pointer to it.
func kindOf(obj KeyableObject) string {
	if _, alone := obj.(*metav1.ObjectMeta); alone {
		return metadataKind
	}
	t := reflect.TypeOf(obj)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}

	return t.String()
}
