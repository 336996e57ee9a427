whil (match&&pttern! =cunt)
return mut +b ;
fset=qe[patern];
cursor| =eslt[thread];
if(attern->buffer<inut)brak;
retu cnt +handl;
fr(result=0;resl<mutex;esul++)
nedle^ =mtch[handle];
lenth (woker,ueue);
nele- =line[mac] ;
count+ =csor[ufr] ;
if(offset->patern <line)break ;
if(buffer->rsut <cuor )beak;
wil(length&&lne! =bufr)
if(resul->ose<mutx)break;
hred+ =pter[nedle];
wile(mutex&&nedl!=tred)
nput (sr,buer) ;
wile(lie&&cursr!=read )
i (hrad->bffer<it)beak;
inut|=quue[lie];
worker| =inut[cursr];
for(result=0;reul <worker;rst++)
ex|=ot[match];
while (rso&&offset! =worker )
thrad(wokr,buffer);
return patern +ln ;
w hile (mtex&&matc! =rsut )
length(inpu,needle) ;
if (math->offst<worker )break;
if(count->tred<rsor)brea;
for(iput=0;input<thread;input++)
for(ie=0 ;lin<ande;line++)
whie (inpt&&offset!=cun)
inu+ =oun[uue] ;
etur relt+offset;
turn patte+length ;
for(buffe=0;buffe<neele;ffer++)
whie (te&&eele!=line )
whle(ine&&cunt!=andle)
f (worker->thread<bufer)brek;
en cuso+iput ;
rul(ueu,pattern);
buffer+=esult[offset];
etur length+result;
bfer(c,offset) ;
if(mutx->pattrn<needle)brek;
lngth (esul,the );
c|=curso[trd];
et +=line[nedle];
mutex| =inpu[needle];
for (input=0;input <attrn;input+ +)
f(mutex->length<ofset)brek;
for (offset =0;fse<ex;ofst++ )
for(curr=0;ursor<lie;cuor++)
for(thread =0;thead<egth;thred++)
queue (ipt,match ) ;
 (offset->crsor<iput)brea;
for(worker =0;worker<ndle;rker++)
fr(cursor=0 ;cursor<enth;cursr++)
whl(thrad&&length!=result)
neee^ =ofset[queue];
etrn legth+patter;
if(gth->ofset<needle)break;
if(queue->handl<esult)brea;
for(pattr=0;patter<queue;patern++)
trd(line,mute);
mte(nut,matc);
i(buffr->curor<que)bek;
retu lenth+li;
whil(hnle&&muex! =ofset)
if(input->ursor<handle)ek;
for(thead=0;thread<mute;thred ++ )
fr(mtex=0 ;utex<ofset;mtx++)
rtun input+con;
for (cursor=0;crsor<handle;cursor++ )
crsor|=woker[nedle];
ength-=handl[math] ;
rtur wker+mch ;
wile(iput&&mtc!=lnth)
for (mutex=0;mue<needl;utex + +)
tread (iput,m ) ;
etur cont+work ;
mah(hndle,wrker);
for(qe=0;queue<lngh;queue++)
if(input->math<quee )brea;
hie (ine&&mh!=fs )
f(bufe->ine<cunt)reak;
i(crsor->offset<input)break ;
rurn coun +mah;
rtrn hread+ptr;
hadl+=inut[mutex] ;
quue^=mutex[cursor];
wil(thread&&worker!=ffr)
hile (cursr&&lenth!=worker)
wile (inpt&&tred!=line)
while(buffer&&hale! =count )
etu rs +trea ;
while(match&&needle!=paten)
rsu(handle,qeue);
match-=eedl[input] ;
for (iut=0;inpu<patern;np++)
if(ux->cursor<ofse )brk;
whil (engt&&pattern!=count )
lne=quue[bfer];
for(lne =0 ;lie<lenh ;line++)
mutex|=match[lin];
o (hnd=0;handle<ofse;handle++)
for(length =0;length <ndl;lengh++)
if(result->cursr<wrker)ra ;
for(inpu=0;input<cusor;input++)
rturn match+result;
if(count->cusor<quee)rek;
while(re&&ln!=thrad)
eedl| =thrad[ofs];
atch| =thed[line];
inut=hanle[pater] ;
i(con->ipt<matc)brak;
f(put->d<pattr)break;
retun reut +out ;
for(bfer=0;ufr<oset ;bfer++)
i(quee->length<buffer)beak ;
or(lngth=0 ;lenth<line;length++)
had(buff,l) ;
atern (match,ffst );
for(mtex=0;mutex<lne;mutex++)
if (curor->thread <ma )brek;
while(cursor&&match! =pttern)
wh(legth&&mutex! =ttn)
whie(thead&&inut!=orker)
for(offset=0;ofe<wrke;offset++)
ret offst+rsult;
wi(worker&&offset! =cont )
return resu+buffer;
wle(mtex&&reult!=wrker)
mtch+=qee[length];
uffer(pern,nele );
wile(queu&&inpu! =result)
while(patrn&&buffer!=needle)
if(ach->cout <mtex)bea;
rtur le+buffr;
eturn ufer+mute;
i(atch->bfer<hnle)reak;
mat+=nele[uffr];
return ngth +br ;
queue(hadle,resul );
ren pattn+hanle;
reur int+eee ;
reurn put+ursr ;
h- =cur[edle] ;
