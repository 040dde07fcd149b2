package clientmanager

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/clusters"
)

// metadataKind is the kind of an object of which the caller has only the metadata.
const metadataKind = ""

// user returns the user for an object. The types of objects distinguish objects with the same name. If obj is only
// metadata, user returns the one object with this name that has clients. If only metadata with this name has clients,
// user returns the user for the metadata.
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

// hasClients reports whether a user has a client.
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
