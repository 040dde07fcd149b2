package conformance

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// isNil reports whether x is nil or holds a nil value.
func isNil(x any) bool {
	if x == nil {
		return true
	}
	v := reflect.ValueOf(x)
	switch v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Func, reflect.Interface, reflect.Chan:
		return v.IsNil()
	default:
		return false
	}
}

// specOf returns the field Spec of mg, or an invalid value if there is none.
func specOf(mg resource.Managed) reflect.Value {
	v := reflect.ValueOf(mg)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return reflect.Value{}
	}

	return v.Elem().FieldByName("Spec")
}

// setSpec sets the spec of mg to the spec of another object of the same type.
func setSpec(mg, of resource.Managed) { specOf(mg).Set(specOf(clone(of))) }

// clone returns a deep copy.
func clone(mg resource.Managed) resource.Managed {
	// a copy has the type of its original
	return mg.DeepCopyObject().(resource.Managed)
}

// fresh returns a copy of a sample in a namespace, as a user applies it.
func fresh(sample resource.Managed) resource.Managed {
	mg := clone(sample)
	if mg.GetNamespace() == "" {
		mg.SetNamespace("default")
	}
	mg.SetResourceVersion("")
	mg.SetUID("")

	return mg
}

// stored returns a copy of a sample with a unique UID, as if it were stored. In the class Named it also has an external
// name.
func (k *runner) stored(sample resource.Managed) resource.Managed {
	mg := fresh(sample)
	k.objects++
	mg.SetUID(types.UID(fmt.Sprintf("%08x-0000-4000-9000-%012d", k.salt, k.objects)))
	mg.SetResourceVersion("1")
	mg.SetGeneration(1)
	mg.SetCreationTimestamp(metav1.Now())
	k.setChosenName(mg)
	k.names[mg.GetUID()] = mg.GetName()

	return mg
}

// setChosenName sets the external name of mg if the class is Named.
func (k *runner) setChosenName(mg resource.Managed) {
	if k.class == Named && meta.GetExternalName(mg) == "" {
		meta.SetExternalName(mg, mg.GetName())
	}
}

// setDeleted marks mg as being deleted.
func setDeleted(mg resource.Managed) {
	now := metav1.Now()
	mg.SetDeletionTimestamp(&now)
}

// mutated returns a copy of a sample with a mutation.
func mutated(sample resource.Managed, m Mutation) resource.Managed {
	mg := clone(sample)
	m.Change(mg)

	return mg
}

// replaceUIDs replaces the UIDs of objects in a text by the names of the objects, and secrets by "<secret>".
func (k *runner) replaceUIDs(text string) string {
	for _, secret := range k.suite.allSecrets() {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "<secret>")
		}
	}
	for uid, name := range k.names {
		text = strings.ReplaceAll(text, string(uid), name)
	}

	return text
}

// equalSpecs reports whether the specs are semantically equal.
func equalSpecs(a, b resource.Managed) bool {
	return equality.Semantic.DeepEqual(specOf(a).Interface(), specOf(b).Interface())
}
