package credentials

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/errors"
)

const canary = "Hunter2CANARYxyz"

// reader holds Secrets by namespace and name, and records requests.
type reader struct {
	client.Reader
	secrets  map[string]map[string][]byte
	err      error
	requests []string
}

// Get returns a Secret.
func (r *reader) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	r.requests = append(r.requests, key.String())

	if r.err != nil {
		return r.err
	}

	data, ok := r.secrets[key.String()]
	if !ok {
		return kerrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, key.Name)
	}

	obj.(*corev1.Secret).Data = data

	return nil
}

// result is the result of Extract.
type result struct {
	Value               string
	NotAllowed, Missing bool
	Failed              bool
	Asked               []string
}

// run calls Extract, and fails if the error contains a secret.
func run(t *testing.T, r *reader, extract func(ctx context.Context) ([]byte, error)) result {
	t.Helper()

	b, err := extract(t.Context())
	if err != nil && strings.Contains(err.Error(), canary) {
		t.Errorf("The error contains a secret: %v", err)
	}

	return result{
		Value: string(b), NotAllowed: IsNotAllowed(err), Missing: IsMissing(err), Failed: err != nil, Asked: r.requests,
	}
}

func TestExtractSecret(t *testing.T) {
	secrets := map[string]map[string][]byte{
		"team/db":  {"url": []byte(canary), "empty": {}, "other": []byte("CANARY" + canary)},
		"other/db": {"url": []byte("of others " + canary)},
	}
	page := kerrors.NewGenericServerResponse(
		http.StatusNotFound, http.MethodGet, schema.GroupResource{Resource: "secrets"}, "db", "404 page not found", 0, true)
	outage := kerrors.NewInternalError(errors.New("outage"))
	ref := func(namespace, name, key string) *commonv1.SecretKeySelector {
		return &commonv1.SecretKeySelector{Reference: commonv1.Reference{Namespace: namespace, Name: name}, Key: key}
	}

	cases := map[string]struct {
		reason    string
		namespace string
		ref       *commonv1.SecretKeySelector
		err       error
		want      result
	}{
		"Cluster": {
			reason: "A cluster-scoped configuration names a namespace.", ref: ref("team", "db", "url"),
			want: result{Value: canary, Asked: []string{"team/db"}},
		},
		"ClusterNoSpace": {reason: "And has to.", ref: ref("", "db", "url"), want: result{Missing: true, Failed: true}},
		"Same": {
			reason: "A namespaced one may name its own.", namespace: "team", ref: ref("team", "db", "url"),
			want: result{Value: canary, Asked: []string{"team/db"}},
		},
		"Implied": {
			reason: "Or leave it out.", namespace: "team", ref: ref("", "db", "url"),
			want: result{Value: canary, Asked: []string{"team/db"}},
		},
		"Foreign": {
			reason: "Another one is refused, without a look.", namespace: "team", ref: ref("other", "db", "url"),
			want: result{NotAllowed: true, Failed: true},
		},
		"NoSelector": {
			reason: "The selector of the source is required.", namespace: "team", want: result{Missing: true, Failed: true},
		},
		"NoName": {
			reason: "With a name.", namespace: "team", ref: ref("", "", "url"), want: result{Missing: true, Failed: true},
		},
		"NoKey": {
			reason: "And a key.", namespace: "team", ref: ref("", "db", ""), want: result{Missing: true, Failed: true},
		},
		"NotFound": {
			reason: "There may be no Secret yet.", namespace: "team", ref: ref("", "nothing", "url"),
			want: result{Missing: true, Failed: true, Asked: []string{"team/nothing"}},
		},
		"MissingKey": {
			reason: "Or no key in it; its neighbours are not told.", namespace: "team", ref: ref("", "db", "nothing"),
			want: result{Missing: true, Failed: true, Asked: []string{"team/db"}},
		},
		"EmptyValue": {
			reason: "An empty value is none.", namespace: "team", ref: ref("", "db", "empty"),
			want: result{Missing: true, Failed: true, Asked: []string{"team/db"}},
		},
		"Outage": {
			reason: "Not to know is neither.", namespace: "team", ref: ref("", "db", "url"), err: outage,
			want: result{Failed: true, Asked: []string{"team/db"}},
		},
		"Proxy": {
			reason: "Nor is the page of a proxy.", namespace: "team", ref: ref("", "db", "url"), err: page,
			want: result{Failed: true, Asked: []string{"team/db"}},
		},
		"NamespaceOfNames": {
			reason: "A path is no way into another namespace.", namespace: "team", ref: ref("", "../other/db", "url"),
			want: result{Missing: true, Failed: true, Asked: []string{"team/../other/db"}},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := &reader{secrets: secrets, err: tc.err}
			got := run(t, r, func(ctx context.Context) ([]byte, error) {
				return New(r).Extract(
					ctx, tc.namespace, commonv1.CredentialsSourceSecret, commonv1.CommonCredentialSelectors{SecretRef: tc.ref})
			})

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestExtractLocal(t *testing.T) {
	r := &reader{secrets: map[string]map[string][]byte{"team/db": {"url": []byte(canary)}}}
	e := New(r)
	s := commonv1.LocalCredentialSelectors{
		SecretRef: &commonv1.LocalSecretKeySelector{
			LocalSecretReference: commonv1.LocalSecretReference{Name: "db"}, Key: "url",
		},
	}

	b, err := e.ExtractLocal(t.Context(), "team", commonv1.CredentialsSourceSecret, s)
	if err != nil || string(b) != canary {
		t.Errorf("ExtractLocal(...) = %q, %v", b, err)
	}

	if _, err := e.ExtractLocal(t.Context(), "", commonv1.CredentialsSourceSecret, s); !IsMissing(err) {
		t.Errorf("Without a namespace: %v, want that something is missing", err)
	}

	if _, err := e.ExtractLocal(
		t.Context(), "team", commonv1.CredentialsSourceSecret, commonv1.LocalCredentialSelectors{}); !IsMissing(err) {
		t.Errorf("Without a selector: %v, want that something is missing", err)
	}

	_, err = e.ExtractLocal(t.Context(), "other", commonv1.CredentialsSourceSecret, s)
	if !IsMissing(err) || !kerrors.IsNotFound(err) {
		t.Errorf("In another namespace: %v, want what the API server answered", err)
	}
}

func TestExtractSources(t *testing.T) {
	t.Setenv("PROVIDER_TOKEN", canary)
	t.Setenv("PROVIDER_EMPTY", "")
	t.Setenv("PROVIDER_PRIVATE", canary)

	env := func(name string) commonv1.CommonCredentialSelectors {
		return commonv1.CommonCredentialSelectors{Env: &commonv1.EnvSelector{Name: name}}
	}
	allowed := AllowEnvironment("PROVIDER_TOKEN", "PROVIDER_EMPTY", "PROVIDER_UNSET")
	ref := commonv1.CommonCredentialSelectors{
		SecretRef: &commonv1.SecretKeySelector{Reference: commonv1.Reference{Namespace: "team", Name: "db"}, Key: "url"},
	}

	cases := map[string]struct {
		reason string
		source commonv1.CredentialsSource
		sel    commonv1.CommonCredentialSelectors
		opts   []Option
		want   result
	}{
		"None":    {reason: "None needs nothing.", source: commonv1.CredentialsSourceNone},
		"Unset":   {reason: "No source is not None.", want: result{Failed: true}},
		"Unknown": {reason: "It is unknown.", source: "Pocket", want: result{Failed: true}},
		"Identity": {
			reason: "The provider's identity is allowed only if it is allowed.",
			source: commonv1.CredentialsSourceInjectedIdentity, opts: []Option{AllowInjectedIdentity()},
		},
		"IdentityRefused": {
			reason: "It is not by default, nor with something else.", source: commonv1.CredentialsSourceInjectedIdentity,
			opts: []Option{allowed, AllowFilesystem("/")}, want: result{NotAllowed: true, Failed: true},
		},
		"Variable": {
			reason: "A variable that is allowed is read.", source: commonv1.CredentialsSourceEnvironment,
			sel: env("PROVIDER_TOKEN"), opts: []Option{allowed}, want: result{Value: canary},
		},
		"VariableRefused": {
			reason: "None is by default.", source: commonv1.CredentialsSourceEnvironment, sel: env("PROVIDER_TOKEN"),
			want: result{NotAllowed: true, Failed: true},
		},
		"VariableOther": {
			reason: "Others are not with it.", source: commonv1.CredentialsSourceEnvironment, sel: env("PROVIDER_PRIVATE"),
			opts: []Option{allowed}, want: result{NotAllowed: true, Failed: true},
		},
		"VariableEmpty": {
			reason: "An empty one is none.", source: commonv1.CredentialsSourceEnvironment, sel: env("PROVIDER_EMPTY"),
			opts: []Option{allowed}, want: result{Missing: true, Failed: true},
		},
		"VariableUnset": {
			reason: "Nor is one that is not there.", source: commonv1.CredentialsSourceEnvironment, sel: env("PROVIDER_UNSET"),
			opts: []Option{allowed}, want: result{Missing: true, Failed: true},
		},
		"VariableNoName": {
			reason: "The selector is required.", source: commonv1.CredentialsSourceEnvironment, sel: ref,
			opts: []Option{allowed}, want: result{Missing: true, Failed: true},
		},
		"FileRefused": {
			reason: "No file is allowed by default.", source: commonv1.CredentialsSourceFilesystem,
			sel:  commonv1.CommonCredentialSelectors{Fs: &commonv1.FsSelector{Path: "/etc/passwd"}},
			want: result{NotAllowed: true, Failed: true},
		},
		"FileNoPath": {
			reason: "The selector is required.", source: commonv1.CredentialsSourceFilesystem, sel: ref,
			want: result{Missing: true, Failed: true},
		},
		"SecretsNotServed": {
			reason: "Without a reader there are no Secrets.", source: commonv1.CredentialsSourceSecret, sel: ref,
			want: result{NotAllowed: true, Failed: true},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := run(t, &reader{}, func(ctx context.Context) ([]byte, error) {
				return New(nil, tc.opts...).Extract(ctx, "", tc.source, tc.sel)
			})

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// testFolders creates an allowed folder with files and links, and a folder that is not
// allowed.
func testFolders(t *testing.T) (allowed, outside string) {
	t.Helper()

	top := t.TempDir()
	allowed, outside = filepath.Join(top, "allowed"), filepath.Join(top, "outside")

	for _, step := range []error{
		os.MkdirAll(filepath.Join(allowed, "..2026", "deep"), 0o700),
		os.Mkdir(outside, 0o700),
		os.Mkdir(filepath.Join(top, "allowed-not"), 0o700),
		os.WriteFile(filepath.Join(top, "allowed-not", "token"), []byte(canary), 0o600),
		os.WriteFile(filepath.Join(outside, "token"), []byte(canary), 0o600),
		os.WriteFile(filepath.Join(allowed, "plain"), []byte(canary), 0o600),
		os.WriteFile(filepath.Join(allowed, "empty"), nil, 0o600),
		os.WriteFile(filepath.Join(allowed, "full"), make([]byte, MaxSize), 0o600),
		os.WriteFile(filepath.Join(allowed, "huge"), make([]byte, MaxSize+1), 0o600),
		os.WriteFile(filepath.Join(allowed, "..2026", "token"), []byte(canary), 0o600),
		os.Symlink("..2026", filepath.Join(allowed, "..data")),
		os.Symlink("..data/token", filepath.Join(allowed, "token")),
		os.Symlink("../outside/token", filepath.Join(allowed, "leaves")),
		os.Symlink(filepath.Join(outside, "token"), filepath.Join(allowed, "leavesAbsolute")),
		os.Symlink("../outside", filepath.Join(allowed, "leavesFolder")),
		os.Symlink("/dev/zero", filepath.Join(allowed, "device")),
		os.Symlink("loop", filepath.Join(allowed, "loop")),
		syscall.Mkfifo(filepath.Join(allowed, "pipe"), 0o600),
	} {
		if step != nil {
			t.Fatal(step)
		}
	}

	return allowed, outside
}

func TestExtractFile(t *testing.T) {
	allowed, outside := testFolders(t)
	refused, gone := result{NotAllowed: true, Failed: true}, result{Missing: true, Failed: true}

	cases := map[string]struct {
		reason string
		path   string
		want   result
	}{
		"Plain": {reason: "A file in the folder is read.", path: allowed + "/plain", want: result{Value: canary}},
		"Mounted": {
			reason: "So is one of a mounted Secret, which is a link to a link.", path: allowed + "/token",
			want: result{Value: canary},
		},
		"Unclean": {
			reason: "A path is what it amounts to.", path: allowed + "/..data/../plain", want: result{Value: canary},
		},
		"Full": {
			reason: "One of the greatest size is read.", path: allowed + "/full",
			want: result{Value: string(make([]byte, MaxSize))},
		},
		"Huge":           {reason: "One of more is not.", path: allowed + "/huge", want: refused},
		"Empty":          {reason: "An empty file is none.", path: allowed + "/empty", want: gone},
		"NotThere":       {reason: "Nor is one that is not there.", path: allowed + "/nothing", want: gone},
		"Outside":        {reason: "Another folder is not allowed.", path: outside + "/token", want: refused},
		"Prefix":         {reason: "Nor is one whose name begins alike.", path: allowed + "-not/token", want: refused},
		"Dots":           {reason: "Nor by going up.", path: allowed + "/../outside/token", want: refused},
		"Relative":       {reason: "A relative path depends on the working directory.", path: "allowed/plain", want: refused},
		"RelativeFolder": {reason: "Nor where a relative folder is.", path: "relative/token", want: refused},
		"Leaves":         {reason: "A link must not lead out.", path: allowed + "/leaves", want: refused},
		"LeavesAbsolute": {reason: "However it is written.", path: allowed + "/leavesAbsolute", want: refused},
		"LeavesFolder":   {reason: "Nor on the way.", path: allowed + "/leavesFolder/token", want: refused},
		"Device":         {reason: "Nor to a device.", path: allowed + "/device", want: refused},
		"Folder":         {reason: "A folder is no file.", path: allowed + "/..2026/deep", want: refused},
		"Itself":         {reason: "Nor is the folder that is allowed.", path: allowed, want: refused},
		"Pipe": {
			reason: "Nor is a pipe, and Extract does not wait for a writer.", path: allowed + "/pipe", want: refused,
		},
		"Loop": {reason: "A link to itself is a failure.", path: allowed + "/loop", want: result{Failed: true}},
		"InFile": {
			reason: "So is a file that is taken for a folder.", path: allowed + "/plain/x", want: result{Failed: true},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := New(nil, AllowFilesystem("relative", filepath.Join(t.TempDir(), "gone"), allowed))
			got := run(t, &reader{}, func(ctx context.Context) ([]byte, error) {
				return e.Extract(
					ctx, "team", commonv1.CredentialsSourceFilesystem,
					commonv1.CommonCredentialSelectors{Fs: &commonv1.FsSelector{Path: tc.path}})
			})

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestExtractRegistersSecret verifies that extracted credentials are redacted in the
// pass.
func TestExtractRegistersSecret(t *testing.T) {
	t.Setenv("PROVIDER_TOKEN", canary)

	known := &redact.Secrets{}

	_, err := New(
		nil, AllowEnvironment("PROVIDER_TOKEN")).Extract(redact.Collect(
		t.Context(), known), "", commonv1.CredentialsSourceEnvironment,
		commonv1.CommonCredentialSelectors{Env: &commonv1.EnvSelector{Name: "PROVIDER_TOKEN"}})
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff("refused: [REDACTED]", known.Mask().String("refused: "+canary)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
