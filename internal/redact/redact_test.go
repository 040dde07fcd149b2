package redact

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The samples are put together from parts, so that scanners of this repository
// find no credentials.
const (
	awsKey = "AKIA" + "IOSFODNN7EXAMPLE"
	begin  = "-----BEGIN" + " "
	seed   = "SUAMLK2ZNL35WSMW37E7UD4VZ7ELPKW7DHC3BWBSD2GCZ7IUQQXZIORRBU"
	jwt    = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJwZWFybCJ9.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
)

func TestString(t *testing.T) {
	pem := begin + "PRIVATE KEY-----\nMIIEvQ\nhunter2==\n-----END PRIVATE KEY-----"
	creds := "-----BEGIN NATS USER JWT-----\n" + jwt + "\n------END NATS USER JWT------\n\nNever share it.\n\n" +
		"-----BEGIN USER NKEY SEED-----\n" + seed + "\n------END USER NKEY SEED------\n"

	cases := map[string]struct {
		reason string
		in     string
		want   string
	}{
		"URLPassword": {
			reason: "User and password go.", in: "dial nats://bob:hunter2@nats:4222: refused",
			want: "dial nats://[REDACTED]@nats:4222: refused",
		},
		"URLToken": {
			reason: "A user alone can be a token.",
			in:     "clone https://hunter2@git.example.com/a.git",
			want:   "clone https://[REDACTED]@git.example.com/a.git",
		},
		"URLList": {
			reason: "Each of several goes, the hosts stay.",
			in:     "nats://a:hunter2@h1:4222,nats://b:hunter2@h2:4222",
			want:   "nats://[REDACTED]@h1:4222,nats://[REDACTED]@h2:4222",
		},
		"URLAt": {
			reason: "A password can hold an at sign.", in: "amqp://a:hun@ter2@h/v",
			want: "amqp://[REDACTED]@h/v",
		},
		"URLSlash": {
			reason: "Or what makes the URL invalid.",
			in:     `parse "postgres://a:hunter2/x?#@h/db": invalid port`,
			want:   `parse "postgres://[REDACTED]@h/db": invalid port`,
		},
		"URLScheme": {
			reason: "Any scheme has userinfo.", in: "mongodb+srv://a:hunter2@h",
			want: "mongodb+srv://[REDACTED]@h",
		},
		"URLPort": {
			reason: "A port is no password.", in: "oci://reg:5000/a@sha256:00",
			want: "oci://reg:5000/a@sha256:00",
		},
		"URLPathAt": {
			reason: "An at sign in a path is no userinfo.", in: "https://proxy/mod/@v/list",
			want: "https://proxy/mod/@v/list",
		},
		"URLIPv6": {
			reason: "The colons of an address are no password.", in: "https://[::1]:6443/a@b",
			want: "https://[::1]:6443/a@b",
		},
		"AuthBearer": {
			reason: "A header goes with its scheme.",
			in:     "Authorization: Bearer hunter2\nAccept: */*",
			want:   "Authorization: [REDACTED]\nAccept: */*",
		},
		"AuthCustom": {
			reason: "Whatever the scheme is.", in: "authorization: Shanty hunter2 was refused",
			want: "authorization: [REDACTED] was refused",
		},
		"AuthParameters": {
			reason: "A scheme can have several parameters.",
			in:     "Authorization: AWS4-HMAC-SHA256 Credential=hunter2/x, SignedHeaders=host, Signature=hunter2 end",
			want:   "Authorization: [REDACTED] end",
		},
		"AuthDigest": {
			reason: "Quotes of one parameter do not end the header.",
			in:     `Authorization: Digest username="bob", realm="a, b", nonce="n", response="hunter2" end`,
			want:   "Authorization: [REDACTED] end",
		},
		"AuthDigestTight": {
			reason: "Nor do they without spaces.",
			in:     `Authorization: Digest username="bob",qop=auth,nc=1,response="hunter2" end`,
			want:   "Authorization: [REDACTED] end",
		},
		"AuthDigestQuoted": {
			reason: "Nor if the header is quoted as a whole.",
			in:     `header "Authorization: Digest username=\"bob\", response=\"hunter2\"" end`,
			want:   `header "Authorization: [REDACTED]" end`,
		},
		"AuthDigestLine": {
			reason: "The next line is another header.",
			in:     "Authorization: Digest username=\"bob\", response=\"hunter2\"\nAccept: x",
			want:   "Authorization: [REDACTED]\nAccept: x",
		},
		"AuthMap": {
			reason: "A header printed as a map is one.",
			in:     "map[Accept:[*/*] Authorization:[Bearer hunter2] X:[y]]",
			want:   "map[Accept:[*/*] Authorization:[REDACTED] X:[y]]",
		},
		"AuthJSON": {
			reason: "A header in JSON is one.", in: `{"Authorization":"Bearer hunter2","a":1}`,
			want: `{"Authorization":[REDACTED],"a":1}`,
		},
		"Bearer": {
			reason: "A scheme shows a secret without its header.",
			in:     "sent Bearer hunter2, got 401", want: "sent Bearer [REDACTED], got 401",
		},
		"Basic": {
			reason: "So does the other.", in: "sent basic Ym9iOmh1bnRlcjI= twice",
			want: "sent basic [REDACTED] twice",
		},
		"BasicWord": {
			reason: "It is an English word as well.",
			in:     "basic validation failed: Basic Auth is off",
			want:   "basic validation failed: Basic Auth is off",
		},
		"BearerWord": {
			reason: "The challenge of a server is no secret.",
			in:     `Bearer token is missing; WWW-Authenticate: Bearer realm="x"`,
			want:   `Bearer token is missing; WWW-Authenticate: Bearer realm="x"`,
		},
		"TokenBearer": {
			reason: "A key before a scheme does not hide it.", in: "token=Bearer hunter2",
			want: "token=Bearer [REDACTED]",
		},
		"Equals": {
			reason: "The value of a key goes.", in: "connect host=h password=hunter2 user=bob",
			want: "connect host=h password=[REDACTED] user=bob",
		},
		"EqualsWord": {
			reason: "After an equals sign there is no sentence.", in: "password=failed",
			want: "password=[REDACTED]",
		},
		"Prefix": {
			reason: "The key can be the end of a name.", in: "MYSQL_ROOT_PASSWORD=hunter2",
			want: "MYSQL_ROOT_PASSWORD=[REDACTED]",
		},
		"Suffix": {
			reason: "Or have an ending that says the same.",
			in:     "token_value=hunter2 password2=hunter2",
			want:   "token_value=[REDACTED] password2=[REDACTED]",
		},
		"Camel": {
			reason: "However it is spelt.", in: "clientSecret: hunter2, accessKey: hunter2",
			want: "clientSecret: [REDACTED], accessKey: [REDACTED]",
		},
		"Keys": {
			reason: "All the names are known.",
			in: "passwd=h1 pwd=h2 secret=h3 token=h4 api_key=h5 api-key=h6 apikey=h7 access_key=h8 private-key=h9 " +
				"client_secret=h0 credential=h1 credentials=h2 secret_access_key=h3 x-api-key: h4",
			want: "passwd=[REDACTED] pwd=[REDACTED] secret=[REDACTED] token=[REDACTED] api_key=[REDACTED] " +
				"api-key=[REDACTED] apikey=[REDACTED] access_key=[REDACTED] private-key=[REDACTED] client_secret=[REDACTED] " +
				"credential=[REDACTED] credentials=[REDACTED] secret_access_key=[REDACTED] x-api-key: [REDACTED]",
		},
		"LongS": {
			reason: "Expressions take a long s for a letter of a key.", in: "paſſword=hunter2",
			want: "paſſword=[REDACTED]",
		},
		"Kelvin": {reason: "And the sign of kelvin.", in: "TOKEN=hunter2", want: "TOKEN=[REDACTED]"},
		"Colon": {
			reason: "A colon does as well.", in: "login with password: hunter2 failed",
			want: "login with password: [REDACTED] failed",
		},
		"ColonWord": {
			reason: "Even if the password is a word.", in: "password: swordfish",
			want: "password: [REDACTED]",
		},
		"YAMLBlock": {
			reason: "A text block goes to the end.", in: "password: |\n  hunter2\n  hunter3\n",
			want: "password: [REDACTED]",
		},
		"NextLine": {
			reason: "The value can be on the next line.", in: "token:\n  hunter2",
			want: "token:\n  [REDACTED]",
		},
		"Struct": {
			reason: "A printed struct keeps its form.", in: "{User:bob Password:hunter2}",
			want: "{User:bob Password:[REDACTED]}",
		},
		"Bytes": {
			reason: "Printed bytes are in brackets.", in: "{Token:[104 117 110] User:bob}",
			want: "{Token:[REDACTED] User:bob}",
		},
		"Nested": {
			reason: "A value in braces goes as a whole.",
			in:     "credentials={a: hunter2, b: {c: d}} then", want: "credentials=[REDACTED] then",
		},
		"Quoted": {
			reason: "A quoted value can have spaces.", in: `password="hun ter2" user=bob`,
			want: `password=[REDACTED] user=bob`,
		},
		"QuotedOpen": {
			reason: "One that does not end reaches to the end.", in: `password="hun ter2`,
			want: `password=[REDACTED]`,
		},
		"QuotedInside": {
			reason: "A quote inside does not end it.", in: `password="hun"ter2" user=bob`,
			want: `password=[REDACTED] user=bob`,
		},
		"QuotedTwice": {
			reason: "Nor do two.", in: `password='hun''ter2' user=bob`,
			want: `password=[REDACTED] user=bob`,
		},
		"JSON": {
			reason: "A field of an object goes.", in: `{"password":"hunter2","user":"bob"}`,
			want: `{"password":[REDACTED],"user":"bob"}`,
		},
		"JSONSpaces": {
			reason: "Spaces do not matter.", in: `{ "password" : "hunter2" , "user" : "bob" }`,
			want: `{ "password" : [REDACTED] , "user" : "bob" }`,
		},
		"JSONEscapes": {
			reason: "An escaped quote does not end the value, an escaped backslash does not go on.",
			in:     `{"password":"hun\"ter2\\","user":"bob"}`,
			want:   `{"password":[REDACTED],"user":"bob"}`,
		},
		"JSONInString": {
			reason: "An object that was quoted again is one.",
			in:     `body "{\"password\":\"hun\\\"ter2\",\"user\":\"bob\"}"`,
			want:   `body "{\"password\":[REDACTED],\"user\":\"bob\"}"`,
		},
		"JSONNumber": {
			reason: "A number can be a password.", in: `{"password": 12345}`,
			want: `{"password": [REDACTED]}`,
		},
		"JSONAuth": {
			reason: "The auth of a registry is user and password.",
			in:     `{"auth":"Ym9iOmh1bnRlcjI="}`, want: `{"auth":[REDACTED]}`,
		},
		"Query": {
			reason: "A query holds keys too, and the rest of it goes along.",
			in:     `Get "https://h/a?x=1&token=hunter2&y=2": EOF`,
			want:   `Get "https://h/a?x=1&token=[REDACTED]": EOF`,
		},
		"Signature": {
			reason: "Signatures of a query go.",
			in:     "https://h/a?X-Amz-Credential=hunter2&X-Amz-Signature=hunter2 and ?sig=hunter2",
			want:   "https://h/a?X-Amz-Credential=[REDACTED] and ?sig=[REDACTED]",
		},
		"Escaped": {
			reason: "An escaped equals sign is one.", in: "?q=password%3Dhunter2",
			want: "?q=password%3D[REDACTED]",
		},
		"FieldError": {
			reason: "Validation repeats the value.",
			in:     `spec.password: Invalid value: "hunter2": must be longer`,
			want:   `spec.password: Invalid value: [REDACTED]: must be longer`,
		},
		"KeyAfterKey": {
			reason: "A key is not taken for the value of the one before.",
			in:     "token: password: hunter2", want: "token: password: [REDACTED]",
		},
		"JWT": {
			reason: "A token is known by its look.", in: "got " + jwt + " from bob",
			want: "got [REDACTED] from bob",
		},
		"Seed": {
			reason: "So is a seed.", in: "nkeys: bad seed " + seed + "!",
			want: "nkeys: bad seed [REDACTED]!",
		},
		"AWS": {
			reason: "So is the id of a key.", in: "user " + awsKey + " is unknown",
			want: "user [REDACTED] is unknown",
		},
		"Service": {
			reason: "So are the tokens of services.",
			in:     "push with ghp_0123456789abcdefghij denied", want: "push with [REDACTED] denied",
		},
		"PEM": {
			reason: "A block goes as a whole.", in: "bad key " + pem + " in file",
			want: "bad key [REDACTED] in file",
		},
		"PEMOpen": {
			reason: "One that does not end reaches to the end.", in: "bad key " + pem[:50],
			want: "bad key [REDACTED]",
		},
		"PEMInside": {
			reason: "A block in a block does not end it.",
			in:     "-----BEGIN A-----\n" + pem + "\nhunter2\n-----END A-----\nx",
			want:   "[REDACTED]\nx",
		},
		"Creds": {
			reason: "A credentials file has two blocks.", in: creds,
			want: "[REDACTED]\n\nNever share it.\n\n[REDACTED]\n",
		},
		"Control": {
			reason: "Control characters are replaced, and do not divide a secret.",
			in:     "a\x1b[31m\r\n\tpassword=hun\x00ter2 b",
			want:   "a\uFFFD[31m\uFFFD\n\tpassword=[REDACTED] b",
		},
		"BrokenUTF8": {
			reason: "So are broken bytes.", in: "a\xff\xfeb password=hun\xffter2 c",
			want: "a\uFFFDb password=[REDACTED] c",
		},
		"Empty":      {reason: "Nothing stays nothing."},
		"EmptyValue": {reason: "An empty value is no secret.", in: "password=", want: "password="},
		"RedactedOnce": {
			reason: "What was redacted stays as it is.",
			in:     "Authorization: [REDACTED] then password=[REDACTED], Bearer [REDACTED] x",
			want:   "Authorization: [REDACTED] then password=[REDACTED], Bearer [REDACTED] x",
		},
		"QuotedNameThenWords": {
			reason: "A quoted name before an error is no key.",
			in:     `cannot read "my-password": disk trouble everywhere`,
			want:   `cannot read "my-password": disk trouble everywhere`,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, String(tc.in)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(tc.want, String(tc.want)); diff != "" {
				t.Errorf("%s\nA second time: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestKubernetesErrorsSurvive holds the texts that a provider's user sees most.
func TestKubernetesErrorsSurvive(t *testing.T) {
	secrets := schema.GroupResource{Resource: "secrets"}

	for _, s := range []string{
		kerrors.NewNotFound(secrets, "db-password").Error(),
		kerrors.NewAlreadyExists(secrets, "api-token").Error(),
		kerrors.NewConflict(secrets, "x", errors.New("the object has been modified; please apply your changes to the "+
			"latest version and try again")).Error(),
		kerrors.NewForbidden(secrets, "x", errors.New(`User "system:serviceaccount:ns:token-reader" cannot get resource `+
			`"secrets" in API group "" in the namespace "team-secret"`)).Error(),
		kerrors.NewUnauthorized("the bearer token is expired").Error(),
		`cannot get secret "db-password": secrets "db-password" not found`,
		`cannot get secret ns/api-token: Get "https://10.0.0.1:443/api/v1/namespaces/ns/secrets/api-token?timeout=10s": ` +
			`dial tcp 10.0.0.1:443: connect: connection refused`,
		`failed to list *v1.Secret: secrets is forbidden: User "x" cannot list resource "secrets" at the cluster scope`,
		`Secret "x" is invalid: metadata.name: Invalid value: "X_Y": a lowercase RFC 1123 subdomain must consist of ` +
			`lower case alphanumeric characters, '-' or '.'`,
		`Stream.nats.moorage.dev "orders" is invalid: [spec.credentials.secretRef: Required value, spec.token: ` +
			`Forbidden: may not be set]`,
		`metadata.resourceVersion: Invalid value: 0: must be specified for an update`,
		`Precondition failed: UID in precondition: 6f9619ff-8b86-d011-b42d-00c04fc964ff, UID in object meta: ` +
			`7f9619ff-8b86-d011-b42d-00c04fc964ff`,
		`the provided continue parameter is too old to display a consistent list result`,
		`failed calling webhook "secret.example.com": failed to call webhook: Post ` +
			`"https://hook.ns.svc:443/mutate?timeout=10s": context deadline exceeded`,
		`tls: failed to verify certificate: x509: certificate signed by unknown authority (possibly because of ` +
			`"crypto/rsa: verification error" while trying to verify candidate authority certificate "kubernetes")`,
		`oauth2: cannot fetch token: 401 Unauthorized`,
		`nats: Authorization Violation`,
		`error: secretName: db, secretRef: {name: db}`,
		"cannot read token: permission denied",
		"couldn't find key tls.key in Secret ns/x",
		`Failed to pull image "registry:5000/a/b@sha256:0123456789abcdef": not found`,
		"unable to read client-cert /a/b for x due to open /a/b: no such file or directory",
		"größere Flotte: 艦隊, two\nlines\tand a tab",
	} {
		if diff := cmp.Diff(s, String(s)); diff != "" {
			t.Errorf("An ordinary error changed: -want, +got:\n%s", diff)
		}
	}
}

func TestBound(t *testing.T) {
	long := strings.Repeat("word ", 1<<18)

	cases := map[string]struct {
		reason string
		in     string
		want   string
	}{
		"Fits":    {reason: "1024 bytes are not cut.", in: long[:1024], want: long[:1024]},
		"TooLong": {reason: "One more is, and says so.", in: long[:1025], want: long[:1009] + cutMark},
		"Huge":    {reason: "However long it is.", in: long, want: long[:1009] + cutMark},
		"Wide": {
			reason: "No character is cut in two.", in: strings.Repeat("ä", 1000),
			want: strings.Repeat("ä", 504) + cutMark,
		},
		"Shrinks": {
			reason: "What fits without its secrets is not cut.",
			in:     "password=" + strings.Repeat("x", 4000) + " end", want: "password=[REDACTED] end",
		},
		"HugeKey": {
			reason: "A secret beyond the window is gone as well.",
			in:     "password=" + strings.Repeat("x", 1<<20) + " end", want: cutMark,
		},
		"HugeBlock": {
			reason: "What stands before it remains.",
			in:     long[:600] + "-----BEGIN X-----" + strings.Repeat("x", 1<<20),
			want:   long[:600][:600+len(mark)-margin] + cutMark,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, String(tc.in)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

var stride = flag.Int("stride", 240, "from one place of a secret in the window of TestWindow to the next")

// TestWindow slides secrets over the end of the window, brought into sight by
// padding that vanishes, and over the end of the text that is kept.
func TestWindow(t *testing.T) {
	const (
		room   = 700
		window = windows * MaxLen
	)

	vanishing := strings.Repeat("password="+strings.Repeat("x", 1000)+" ", 7)

	cases := map[string]struct{ pad, tail string }{
		"Window": {
			pad:  vanishing + strings.Repeat("p", window-len(vanishing)-room),
			tail: strings.Repeat("t", window),
		},
		"WindowAndWord": {
			pad:  vanishing + strings.Repeat("p", window-len(vanishing)-room),
			tail: " " + strings.Repeat("t ", window),
		},
		"Text": {pad: strings.Repeat("p", MaxLen-room)},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for name, form := range forms {
				for shift := 0; shift < room; shift += *stride {
					verify(t, name, tc.pad+strings.Repeat("p", shift)+" "+form.text+tc.tail, form.secret)
				}
			}
		})
	}
}

func TestError(t *testing.T) {
	if err := Error(nil); err != nil {
		t.Errorf("Error(nil) = %v, want nil", err)
	}

	gone := kerrors.NewNotFound(schema.GroupResource{Resource: "streams"}, "s")
	original := fmt.Errorf("cannot dial nats://bob:hunter2@nats: %w: %w", gone, fs.ErrNotExist)
	err := Error(original)

	const want = `cannot dial nats://[REDACTED]@nats: streams "s" not found: file does not exist`
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}

	if !errors.Is(err, fs.ErrNotExist) || !errors.Is(err, gone) || errors.Is(err, fs.ErrExist) {
		t.Error("Is(...) must answer as for the original")
	}

	var status *kerrors.StatusError
	if !errors.As(err, &status) || status != gone || !kerrors.IsNotFound(err) {
		t.Error("As(...) must find what the original wraps")
	}

	var path *fs.PathError
	if errors.As(err, &path) {
		t.Error("As(...) found what is not there")
	}

	if got := errors.Unwrap(err); got != nil {
		t.Errorf("Unwrap(...) = %v, want nil", got)
	}

	if Error(err) != err { //nolint:errorlint // The very error must come back.
		t.Error("A redacted error was redacted again")
	}

	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T"} {
		for _, v := range []any{err, struct{ Err error }{err}, &struct{ err error }{err}, []any{err}} {
			if got := fmt.Sprintf(verb, v); strings.Contains(got, "hunter2") || strings.Contains(got, "68756e746572") {
				t.Errorf("%s prints the secret: %s", verb, got)
			}
		}
	}
}

// TestLinear fails when the time grows with the square of the length: 1 MiB of
// the worst would then take minutes.
func TestLinear(t *testing.T) {
	start := spent(t)

	for _, unit := range []string{
		"x", " ", "a=", "://", "x://a:b", "://a@", "password=", "password: ", "token:(", "password='", `password=\"`,
		"bearer ", "authorization: a, ",
		"-----BEGIN ", "-----BEGIN A-----", "eyJ", "eyJabcdefgh.", "SU", "AKIA", "\xff", "\x00", `\`, `"`, "ä",
		"token: Invalid value: ", "|", "pass pass ",
		"<password>", "cookie:[", `digest a="`, "mysql -p", "a:b@h:22 ", `"token":null,`, `"secret":{"name":"`,
		"token:", "/token:1.2 ", "identified by ", "$2a$", "&lt;",
	} {
		for _, prefix := range []string{"", "password=", "password='", "x://a:b", "-----BEGIN A-----"} {
			if got := String(prefix + strings.Repeat(unit, worst/len(unit))); len(got) > MaxLen {
				t.Errorf("%q: %d bytes", unit, len(got))
			}
		}
	}

	// String looks at 8 KiB, which hide what the square of the length costs. So more is looked
	// at, of what may have an end to look for behind it, and none of a value.
	for _, unit := range []string{"bearer realm=(", "basic realm=(", "token: realm=(", "authorization: realm=(",
		"identified by realm=(", "--token and ("} {
		Long(strings.Repeat(unit, worst/4/len(unit)), worst/4/windows)
	}

	if d := spent(t) - start; d > 30*time.Second {
		t.Errorf("It took %s of a processor", d)
	}
}

// TestStable slides marks over the end of the text that is kept.
func TestStable(t *testing.T) {
	for _, unit := range []string{"password=abc ", "Authorization: Basic a:b, c ", "x://a:b@h ", `{"token":"a b"} `} {
		for shift := 0; shift < len(unit)+len(mark); shift += 1 + *stride/100 {
			stable(t, strings.Repeat("p", shift)+" "+strings.Repeat(unit, MaxLen))
		}
	}
}

type form struct{ text, secret string }

const canary = "Hunter2CANARYxyz"

var forms = map[string]form{
	"URL":        {text: "nats://bob:" + canary + "@host:4222/x", secret: canary},
	"URLToken":   {text: "https://" + canary + "@host/x", secret: canary},
	"Header":     {text: "Authorization: Bearer " + canary, secret: canary},
	"HeaderOwn":  {text: "Authorization: Shanty " + canary, secret: canary},
	"Bearer":     {text: "Bearer " + canary, secret: canary},
	"Basic":      {text: "Basic Ym9iOkNBTkFSWTEyMw==", secret: "Ym9iOkNBTkFSWTEyMw"},
	"Equals":     {text: "password=" + canary, secret: canary},
	"Colon":      {text: "password: " + canary, secret: canary},
	"Token":      {text: "token: " + canary, secret: canary},
	"APIKey":     {text: "x-api-key: " + canary, secret: canary},
	"JSON":       {text: `{"clientSecret":"` + canary + `","a":1}`, secret: canary},
	"JSONSpace":  {text: `{"clientSecret": "a b ` + canary + `", "a": 1}`, secret: canary},
	"JSONString": {text: `{\"token\":\"a\\\"` + canary + `\"}`, secret: canary},
	"JWT":        {text: jwt, secret: jwt[3:]},
	"PEM":        {text: begin + "RSA PRIVATE KEY-----\n" + canary + "\n-----END RSA PRIVATE KEY-----", secret: canary},
	"Seed":       {text: seed, secret: seed},
	"SeedBlock":  {text: "-----BEGIN USER NKEY SEED-----\n" + seed + "\n------END USER NKEY SEED------", secret: seed},
	"AWS":        {text: awsKey, secret: awsKey},
	"SQLRole":    {text: "CREATE ROLE bob PASSWORD '" + canary + "'", secret: canary},
	"SQLUser":    {text: "CREATE USER bob IDENTIFIED BY '" + canary + "'", secret: canary},
	"DSN":        {text: "bob:" + canary + "@tcp(host:3306)/x", secret: canary},
	"Flag":       {text: "--password " + canary, secret: canary},
	"Cookie":     {text: "Cookie: sid=" + canary + "; a=b", secret: canary},
	"Digest":     {text: `Authorization: Digest username="bob", uri="/a", response="` + canary + `"`, secret: canary},
	"Element":    {text: "<Password>" + canary + "</Password>", secret: canary},
	"Pair":       {text: `{"name":"DB_PASSWORD","value":"` + canary + `"}`, secret: canary},
	"Webhook":    {text: "https://hooks.slack.com/services/T0/B0/" + canary, secret: canary},
	"Vault":      {text: "hvs." + canary + canary, secret: canary},
	"Query":      {text: "https://h/a?X-Amz-Signature=" + canary + "&x=y", secret: canary},
}

func verify(t *testing.T, name, text, secret string) {
	t.Helper()

	got := String(text)
	if len(got) > MaxLen || !utf8.ValidString(got) {
		t.Errorf("%s: %d bytes, valid %t: %q", name, len(got), utf8.ValidString(got), text)
	}

	// No half of the secret may be left either.
	for _, part := range []string{secret[:len(secret)/2], secret[len(secret)/2:]} {
		if strings.Contains(got, part) {
			t.Fatalf("%s: %q survives: %q -> %q", name, part, text, got)
		}
	}
}

// stable fails if the redacted text changes when it is redacted again.
func stable(t *testing.T, text string) {
	t.Helper()

	got := String(text)
	if len(got) > MaxLen || !utf8.ValidString(got) {
		t.Fatalf("%d bytes, valid %t: %q", len(got), utf8.ValidString(got), text)
	}

	if diff := cmp.Diff(got, String(got)); diff != "" {
		t.Fatalf("%q a second time: -once, +twice:\n%s", text, diff)
	}
}

func FuzzString(f *testing.F) {
	f.Add("cannot connect", "refused", uint16(0))
	f.Add("token:", "", uint16(0))
	f.Add("authorization: x", "@y", uint16(100))
	f.Add("-----BEGIN A-----", "-----END A-----", uint16(16000))
	f.Add("a\xff://b\x00", "://c", uint16(16300))

	// An open quote before a secret can make any key look like the end of a
	// value; the text is then ambiguous.
	unquoted := strings.NewReplacer(`"`, "", "'", "", "`", "", `\`, "")

	f.Fuzz(func(t *testing.T, before, after string, pad uint16) {
		stable(t, before+after)
		stable(t, strings.Repeat("p ", int(pad)/2)+before+after)

		before = strings.Repeat("x", int(pad)) + unquoted.Replace(before) + " "

		for name, form := range forms {
			half := form.secret[:len(form.secret)/2]
			if strings.Contains(before+after, half) || strings.Contains(before+after, form.secret[len(half):]) {
				continue
			}

			verify(t, name, before+form.text+" "+after, form.secret)
		}
	})
}
