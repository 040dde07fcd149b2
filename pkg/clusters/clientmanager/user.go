package clientmanager

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/clusters"
)

// metadata is the kind of an object of which only the metadata is given.
const metadata = ""

// user tells objects of one name apart by their types. Of metadata and an object of the same
// name, the one that was given clients first stands for both.
func (m *ClientManager[C]) user(obj KeyableObject) clusters.User {
	u := clusters.User{Kind: kindOf(obj), Key: types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}}
	if m.given(u) {
		return u
	}
	if u.Kind != metadata {
		if alone := (clusters.User{Kind: metadata, Key: u.Key}); m.given(alone) {
			return alone
		}

		return u
	}
	var given []clusters.User
	for _, other := range m.manager.Named(u.Key) {
		if m.given(other) {
			given = append(given, other)
		}
	}
	if len(given) == 1 {
		return given[0]
	}

	return u
}

func (m *ClientManager[C]) given(u clusters.User) bool { return len(m.manager.Built(u)) > 0 }

// kindOf returns the name of the type, which is the same for a pointer.
func kindOf(obj KeyableObject) string {
	if _, alone := obj.(*metav1.ObjectMeta); alone {
		return metadata
	}
	t := reflect.TypeOf(obj)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}

	return t.String()
}
