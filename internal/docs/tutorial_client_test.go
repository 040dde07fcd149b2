package docs

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/moorage-dev/moorage/internal/docs/tutorial/harbour"
)

// inside is what nobody is shown that something else says at the office's address.
const inside = "what-another-server-says"

// says answers with a body of a media type.
func says(code int, media, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", media)
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	}
}

// asked returns what the client of the tutorial says of an answer to a look and to a creation.
func asked(t *testing.T, answer http.HandlerFunc) (looked, created error) {
	t.Helper()
	server := httptest.NewServer(answer)
	defer server.Close()
	client := harbour.Client{URL: server.URL}
	_, looked = client.Get(t.Context(), "north")
	return looked, client.Create(t.Context(), harbour.Berth{Name: "north"})
}

// TestTutorialClientBelievesTheOfficeAlone: authors copy the client of the tutorial. That there is no such berth,
// that the name is taken and that the request is of no use have to be the office's own words. What else answers says
// nothing about a berth, and its text is not shown.
func TestTutorialClientBelievesTheOfficeAlone(t *testing.T) {
	for code, own := range map[int]error{
		http.StatusNotFound: harbour.ErrNotFound, http.StatusConflict: harbour.ErrTaken, http.StatusUnprocessableEntity: harbour.ErrRefused,
		http.StatusForbidden: nil, http.StatusRequestTimeout: nil, http.StatusInternalServerError: nil, http.StatusBadGateway: nil,
	} {
		for who, tc := range map[string]struct {
			answer http.HandlerFunc
			want   error // nil: any other
		}{
			"the office":      {says(code, "application/json; charset=utf-8", `{"error": "so it is"}`), own},
			"a proxy":         {says(code, "text/html", "<html>"+inside+"</html>"), harbour.ErrUnavailable},
			"another service": {says(code, "application/json", `{"message": "`+inside+`"}`), harbour.ErrUnavailable},
			"a text":          {says(code, "text/plain", `{"error": "`+inside+`"}`), harbour.ErrUnavailable},
		} {
			looked, created := asked(t, tc.answer)
			for _, err := range []error{looked, created} {
				known := errors.Is(err, harbour.ErrNotFound) || errors.Is(err, harbour.ErrTaken) || errors.Is(err, harbour.ErrRefused) || errors.Is(err, harbour.ErrUnavailable)
				if err == nil || strings.Contains(err.Error(), inside) || known == (tc.want == nil) || known && !errors.Is(err, tc.want) {
					t.Errorf("%d by %s: %v, want %v", code, who, err, tc.want)
				}
			}
		}
	}
}

// TestTutorialClientShowsLittle: an error has no end that the office chooses.
func TestTutorialClientShowsLittle(t *testing.T) {
	looked, _ := asked(t, says(http.StatusForbidden, "application/json", `{"error": "`+strings.Repeat("x", 1<<12)+`"}`))
	if size := len(fmt.Sprint(looked)); size > 1<<9 {
		t.Errorf("%d bytes are shown", size)
	}
}

// TestTutorialClientTakesNoPageForABerth: a page that wants a login has the status 200.
func TestTutorialClientTakesNoPageForABerth(t *testing.T) {
	if looked, _ := asked(t, says(http.StatusOK, "text/html", "<html>"+inside+"</html>")); !errors.Is(looked, harbour.ErrUnavailable) {
		t.Errorf("a page of HTML is read as a berth: %v", looked)
	}
}

// TestTutorialClientFollowsNoRedirect: what another address answers is not believed, and is not shown the token.
func TestTutorialClientFollowsNoRedirect(t *testing.T) {
	for _, code := range []int{http.StatusMovedPermanently, http.StatusSeeOther, http.StatusTemporaryRedirect} {
		followed := 0
		looked, created := asked(t, func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/berths") {
				http.Redirect(w, r, "/elsewhere", code)
				return
			}
			followed++
			says(http.StatusOK, "application/json", "{}")(w, r)
		})
		if followed != 0 || !errors.Is(looked, harbour.ErrUnavailable) || !errors.Is(created, harbour.ErrUnavailable) {
			t.Errorf("%d: followed %d times; %v, %v", code, followed, looked, created)
		}
	}
}

// TestTutorialClientAsksForOneBerth: users choose external names, which lead nowhere but to a berth.
func TestTutorialClientAsksForOneBerth(t *testing.T) {
	var path string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { path = r.URL.EscapedPath() }))
	defer server.Close()
	_ = harbour.Client{URL: server.URL}.Delete(t.Context(), "../ships/7?all")
	if want := "/berths/..%2Fships%2F7%3Fall"; path != want {
		t.Errorf("it asks for %s, want %s", path, want)
	}
}
