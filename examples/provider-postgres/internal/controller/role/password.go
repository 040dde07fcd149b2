package role

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// Keys of the connection Secret. PostgreSQL has one password per role. So for a moment a rotation leaves the password
// under one of the keys useless, but never under both. Between rotations both are the same.
const (
	keyUser     = "username"
	keyPassword = "password"
	keyNext     = "password-next"
)

// A note is what the comment of a role says: the stamp of its object, which password the server has, and for which
// value of spec.forProvider.passwordRotation that was set. The comment is set in one transaction with the password.
// So it shows which password works, also if the answer was lost, and without the right to read what the server
// stores.
type note struct {
	stamp, password, rotation string
}

const passwordNote = "\npassword "

// String returns the text of the comment.
func (n note) String() string {
	if n.password == "" {
		return n.stamp
	}

	return n.stamp + passwordNote + n.password + " " + n.rotation
}

func parse(comment string) note {
	stamp, rest, _ := strings.Cut(comment, passwordNote)
	password, rotation, _ := strings.Cut(rest, " ")

	return note{stamp, password, rotation}
}

// passwords are those in the Secret. Empty means that there is none.
type passwords struct{ current, next string }

// facts are what is known of the password of a role.
type facts struct {
	note    note
	asked   string // spec.forProvider.passwordRotation
	drifted bool   // the server has another password than the comment says
	secret  passwords
}

// working returns the password in the Secret that the comment names, or "".
func (f facts) working() string {
	for _, p := range []string{f.secret.current, f.secret.next} {
		if p != "" && f.note.password != "" && identify(verifier(p)) == f.note.password {
			return p
		}
	}

	return ""
}

// An outcome is what to do about a password.
type outcome struct {
	publish passwords // to be in the Secret before the password is set
	apply   string    // to be set in the server, or ""
	settled string    // the id of the password if the server has it, and the Secret will have it under keyPassword
}

// plan decides about the password of a role.
func plan(f facts, generate func() string) outcome {
	working := f.working()
	switch {
	// The server has the password that was asked for, and the Secret, too: it becomes the current one.
	case working != "" && f.note.rotation == f.asked && !f.drifted:
		return outcome{publish: passwords{working, working}, settled: f.note.password}
	// Another password was set in the server: that of the Secret is set again.
	case working != "" && f.note.rotation == f.asked:
		return outcome{publish: passwords{working, working}, apply: working}
	// The next password is in the Secret, and is to be set.
	case f.secret.next != "" && f.secret.next != working:
		return outcome{publish: passwords{first(working, f.secret.current, f.secret.next), f.secret.next},
			apply: f.secret.next}
	// A rotation was asked for, there is no password yet, or the Secret has lost it.
	default:
		next := generate()

		return outcome{publish: passwords{first(working, f.secret.current, next), next}, apply: next}
	}
}

// apply returns the password to be set in the server, or "". It is an error if that is not in the Secret: an
// application would be without a password that works.
func apply(f facts) (string, error) {
	const none = "none"
	next := plan(f, func() string { return none })
	if next.apply == none {
		return "", errors.New("the next password is not in the Secret yet")
	}

	return next.apply, nil
}

func first(of ...string) string {
	for _, s := range of {
		if s != "" {
			return s
		}
	}

	return ""
}

// generate returns a new password, of 256 random bits.
func generate() string {
	random := make([]byte, 32)
	_, _ = rand.Read(random) // it never fails

	return base64.RawURLEncoding.EncodeToString(random)
}

// iterations are as many as PostgreSQL takes. It is impossible to guess 256 random bits, so more would protect
// nothing.
const iterations = 4096

// verifier returns what PostgreSQL stores of a password, by SCRAM-SHA-256 (RFC 5803). The salt is derived from the
// password, so that the same password always has the same verifier, and to set it again changes nothing. That is no
// weakness: no two roles have the same generated password.
func verifier(password string) string {
	digest := sha256.Sum256([]byte("salt of " + password))
	salt := digest[:16]
	salted, err := pbkdf2.Key(sha256.New, password, salt, iterations, sha256.Size)
	if err != nil {
		return "" // only for a key that is too short, which this one is not
	}
	sum := func(text string) []byte {
		mac := hmac.New(sha256.New, salted)
		mac.Write([]byte(text))

		return mac.Sum(nil)
	}
	stored := sha256.Sum256(sum("Client Key"))
	encode := base64.StdEncoding.EncodeToString

	return fmt.Sprintf("SCRAM-SHA-256$%d:%s$%s:%s", iterations, encode(salt), encode(stored[:]), encode(sum("Server Key")))
}

// identify returns the id of a password, from its verifier. It says nothing about the password.
func identify(verifier string) string {
	digest := sha256.Sum256([]byte(verifier))

	return hex.EncodeToString(digest[:16])
}
