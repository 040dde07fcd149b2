package event

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// AnnotationKeyStored is the annotation of an event about something outside Kubernetes
// with its whole key, of which the event's name holds what a name can hold.
const AnnotationKeyStored = "moorage.dev/store-key"

// refVersion is what stands for a version of an API where there is none.
const refVersion = "store.moorage.dev/v1"

// maxRefName is what the name of an event leaves for that of its object: the
// recorder adds a dot and 16 digits to it, and 253 is what a name may have.
const maxRefName = 253 - 17

// Ref returns a reference to an object that is not in Kubernetes, so that events
// about it can be recorded there: a recorder takes a reference for the object. The
// events are in the namespace. The name is the key as far as a name may look like
// it, and a hash of it otherwise; without a UID the reference has one that is
// always the same for kind and key, so that events are counted together.
func Ref(kind, namespace, key, uid string) *corev1.ObjectReference {
	sum := sha256.Sum256([]byte(kind + "\x00" + key))
	hash := hex.EncodeToString(sum[:])
	if uid == "" {
		// A UUID of version 8, which is for whatever one makes of a hash.
		uid = hash[:8] + "-" + hash[8:12] + "-8" + hash[13:16] + "-8" + hash[17:20] + "-" + hash[20:32]
	}

	return &corev1.ObjectReference{APIVersion: refVersion, Kind: kind, Namespace: namespace, Name: refName(key, hash[:8]), UID: types.UID(uid)}
}

// refName makes a name of a key: small letters, digits and dashes. If that changes
// something, the hash tells it from other keys that become the same.
func refName(key, hash string) string {
	if len(key) <= maxRefName && len(validation.IsDNS1123Subdomain(key)) == 0 {
		return key
	}
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		default:
			return '-'
		}
	}, key)

	return strings.TrimLeft(name[:min(len(name), maxRefName-len(hash)-1)]+"-"+hash, "-")
}
