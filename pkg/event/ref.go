package event

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// AnnotationKeyStored is the annotation of an event that has the full key of an object outside Kubernetes. The name
// in the event may contain only a part of the key.
const AnnotationKeyStored = "moorage.dev/store-key"

// refVersion is the apiVersion of references to objects outside Kubernetes.
const refVersion = "store.moorage.dev/v1"

// maxRefName is the maximum length of the name of an object in that of an event: the recorder
// adds a dot and 16 digits, and a name may have 253 bytes.
const maxRefName = 253 - 17

// Ref returns a reference to an object outside Kubernetes. Pass the reference to a recorder in place of the object.
// The events are created in the given namespace.
//
// The name in the reference is the key if the key is a valid name. Otherwise the name is derived from the key with a
// hash. If uid is empty, it is derived from kind and key, so that events are aggregated.
func Ref(kind, namespace, key, uid string) *corev1.ObjectReference {
	sum := sha256.Sum256([]byte(kind + "\x00" + key))
	hash := hex.EncodeToString(sum[:])
	if uid == "" {
		// A UUID of version 8, which is for custom formats such as hashes.
		uid = hash[:8] + "-" + hash[8:12] + "-8" + hash[13:16] + "-8" + hash[17:20] + "-" + hash[20:32]
	}

	return &corev1.ObjectReference{
		APIVersion: refVersion, Kind: kind, Namespace: namespace, Name: refName(key, hash[:8]),
		UID: types.UID(uid),
	}
}

// refName returns the name for a key: lower-case letters, digits and dashes. If it differs
// from the key, it ends with the hash, which keeps it unique.
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
