/* A program of which an edit changes one function, `-DEDIT=…`, and another adds one, `-DMORE`. */
static int table[] = {1, 2, 3};
static volatile int state;

#ifdef MORE
__attribute__((noinline)) int more(int a)
{
    return a + state / 3;
}
int (*kept)(int) = more;
#endif

__attribute__((noinline)) int twice(int a)
{
    return a * 2 + table[a & 1];
}

__attribute__((noinline)) int seldom(int a)
{
    EDIT;
    return twice(a) ^ state;
}

int main(int count, char **all)
{
    return count > 9 ? seldom(count) : twice(count);
}
