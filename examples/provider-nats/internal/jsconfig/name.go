package jsconfig

import (
	"strings"
	"unicode"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
)

// longestName is how long a name may be in NATS.
const longestName = 255

// CheckStreamName returns an error that says what to do if a stream cannot have
// that name.
func CheckStreamName(name string) error {
	bad := strings.ContainsFunc(name, func(r rune) bool {
		return strings.ContainsRune(`.*>\/`, r) || unicode.IsSpace(r) || !unicode.IsPrint(r)
	})

	switch {
	case name == "":
		return unusable("stream", name, "it is empty")
	case len(name) > longestName:
		return unusable("stream", name, "it is longer than 255 bytes")
	case bad:
		return unusable("stream", name, `NATS allows neither white space nor any of . * > \ / in it`)
	}

	return nil
}

// CheckBucketName returns an error that says what to do if a bucket cannot have
// that name.
func CheckBucketName(name string) error {
	bad := strings.ContainsFunc(name, func(r rune) bool {
		return r > unicode.MaxASCII || !(unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_')
	})

	switch {
	case name == "":
		return unusable("bucket", name, "it is empty")
	case len(BucketStream(name)) > longestName:
		return unusable("bucket", name, "it is longer than 252 bytes")
	case bad:
		return unusable("bucket", name, "NATS allows only the letters A-Z and a-z, digits, - and _ in it")
	}

	return nil
}

func unusable(what, name, why string) error {
	return errors.Errorf("%q cannot be the name of a %s: %s; set the annotation %s to a name that NATS can use",
		name, what, why, meta.AnnotationKeyExternalName)
}
