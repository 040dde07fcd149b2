package jsconfig

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
)

// longestName is the length limit of a name in NATS.
const longestName = 255

// CheckStreamName returns an error that says what to do if a stream cannot have
// that name.
func CheckStreamName(name string) error { return checkName("stream", name) }

// CheckConsumerName returns an error that says what to do if a consumer cannot
// have that name.
func CheckConsumerName(name string) error { return checkName("consumer", name) }

func checkName(what, name string) error {
	bad := strings.ContainsFunc(name, func(r rune) bool {
		return strings.ContainsRune(`.*>\/`, r) || unicode.IsSpace(r) || !unicode.IsPrint(r)
	})

	switch {
	case name == "":
		return unusable(what, name, "it is empty")
	case len(name) > longestName:
		return unusable(what, name, "it is longer than 255 bytes")
	case bad:
		return unusable(what, name, `NATS allows neither white space nor any of . * > \ / in it`)
	}

	return nil
}

// CheckBucketName returns an error that says what to do if a key-value bucket
// cannot have that name.
func CheckBucketName(name string) error { return checkBucket(name, longestName-len(bucketPrefix)) }

// CheckObjectStoreName returns an error that says what to do if an object store
// bucket cannot have that name.
func CheckObjectStoreName(name string) error {
	return checkBucket(name, longestName-len(objectPrefix))
}

// checkBucket takes the length limit of the name: that of its stream is longer.
func checkBucket(name string, longest int) error {
	bad := strings.ContainsFunc(name, func(r rune) bool {
		return r > unicode.MaxASCII || !(unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_')
	})

	switch {
	case name == "":
		return unusable("bucket", name, "it is empty")
	case len(name) > longest:
		return unusable("bucket", name, fmt.Sprintf("it is longer than %d bytes", longest))
	case bad:
		return unusable("bucket", name, "NATS allows only the letters A-Z and a-z, digits, - and _ in it")
	}

	return nil
}

func unusable(what, name, why string) error {
	return errors.Errorf("%q cannot be the name of a %s: %s; set the annotation %s to a name that NATS can use",
		name, what, why, meta.AnnotationKeyExternalName)
}
