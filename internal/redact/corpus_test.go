package redact

import (
	"bufio"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// linesOf returns the lines of a file of testdata but for empty ones and comments.
func linesOf(t *testing.T, name string) []string {
	t.Helper()

	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	var lines []string

	for s := bufio.NewScanner(f); s.Scan(); {
		if line := s.Text(); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}

	return lines
}

// TestOrdinaryErrorsStay holds that a user can read what went wrong: none of the errors
// of APIs in the corpus has a secret, and many have words like secret, token and password.
func TestOrdinaryErrorsStay(t *testing.T) {
	lines := linesOf(t, "ordinary.txt")
	if n := len(slices.Compact(slices.Sorted(slices.Values(lines)))); n != 200 {
		t.Errorf("The corpus has %d different errors, want 200", n)
	}

	for _, s := range lines {
		if got := String(s); got != s {
			t.Errorf("An ordinary error changed:\n%s\n%s", s, got)
		}
	}
}

// passing are the shapes of the corpus that String does not find. They cannot be
// distinguished from the id of a request, the digest of an image or an ordinary word.
var passing = []string{"aws-secret-key", "hex-key", "pgpass", "sentence"}

// TestSecretShapes holds what is known of secrets by their place and look, and what is not:
// the list of those that pass changes with what is known.
func TestSecretShapes(t *testing.T) {
	const most = 10

	var names, passed []string

	for _, line := range linesOf(t, "secrets.txt") {
		name, text, _ := strings.Cut(line, ": ")
		names = append(names, name)

		if leak := leakOf(t, text); leak != "" {
			passed = append(passed, name)
			t.Logf("%s passes: %s", name, leak)
		}
	}

	if n := len(slices.Compact(slices.Sorted(slices.Values(names)))); n != 47 {
		t.Errorf("The corpus has %d different shapes, want 47", n)
	}

	slices.Sort(passed)

	if diff := cmp.Diff(passing, passed); diff != "" || len(passed) > most {
		t.Errorf("Of the shapes %d pass, want %d at most: -want, +got:\n%s", len(passed), most, diff)
	}
}

// leakOf returns what String leaves of a shape with its secrets, if it leaves a part of them
// for one of several secrets.
func leakOf(t *testing.T, shape string) string {
	t.Helper()

	for seed := range uint64(50) {
		text, secrets := filled(t, shape, rand.New(rand.NewPCG(seed, 47)))

		got := String(text)
		for _, secret := range secrets {
			for i := 0; i+minSecret <= len(secret); i++ {
				if strings.Contains(got, secret[i:i+minSecret]) {
					return got
				}
			}
		}
	}

	return ""
}

var (
	placeholder = regexp.MustCompile(`\{(\w+)(?: (\d+))?\}`)

	alphabets = map[string]string{
		"alnum":  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
		"base32": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
		"base64": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
		"bech32": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
		"digits": "0123456789",
		"hex":    "0123456789abcdef",
		"upper":  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
		"url":    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-",
	}
)

// filled returns a shape with something random in place of what is in braces, which is
// secret.
func filled(t *testing.T, shape string, random *rand.Rand) (text string, secrets []string) {
	t.Helper()

	text = placeholder.ReplaceAllStringFunc(shape, func(s string) string {
		m := placeholder.FindStringSubmatch(s)
		if m[1] == "dashes" {
			return "-----"
		}

		n, err := strconv.Atoi(m[2])
		if err != nil || alphabets[m[1]] == "" {
			t.Fatalf("No alphabet, or no length: %s", s)
		}

		secret := randomOf(alphabets[m[1]], n, random)
		secrets = append(secrets, secret)

		return secret
	})
	if len(secrets) == 0 {
		t.Fatalf("Nothing is secret: %s", shape)
	}

	return text, secrets
}

func randomOf(alphabet string, n int, random *rand.Rand) string {
	letters := make([]byte, n)
	for i := range letters {
		letters[i] = alphabet[random.IntN(len(alphabet))]
	}

	return string(letters)
}
